// Nested tensors: one storage with a table of sizes on the host. Enough of them runs for the fast path that PyTorch's
// Transformer modules take on this device; their kernels are CPU's.
#pragma once

#include <ATen/core/Tensor.h>

namespace neuron::launch {

constexpr c10::DispatchKeySet kNestedCpuKey(c10::DispatchKey::NestedTensorCPU);

inline bool is_nested(const c10::TensorImpl* tensor) { return tensor->key_set().has(c10::DispatchKey::NestedTensor); }

// The CPU nested tensor over `storage`, the CPU alias of a neuron nested tensor's storage.
at::Tensor nested_alias(const c10::TensorImpl* original, c10::Storage storage);

// The neuron nested tensor over `storage`, into which the storage of `cpu`, a kernel's result, was adopted.
at::Tensor nested_on_neuron(const c10::TensorImpl* cpu, c10::Storage storage);

}  // namespace neuron::launch
