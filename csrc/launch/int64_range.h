// int64 is native and exact here; the real product may narrow it to int32, so values that would not survive are
// counted.
#pragma once

#include <ATen/core/Tensor.h>

#include "launch/ledger.h"

namespace neuron::launch {

// `tensor`: what a kernel returned or wrote, as a CPU tensor. Strided results that are not dense are not looked at.
inline void count_int64_values(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (C10_LIKELY(impl->dtype() != caffe2::TypeMeta::Make<int64_t>())) return;
  if (impl->numel() == 0 || !impl->is_cpu() || !impl->is_non_overlapping_and_dense()) return;
  ledger::count_int64(static_cast<const int64_t*>(impl->data()), impl->numel());
}

}  // namespace neuron::launch
