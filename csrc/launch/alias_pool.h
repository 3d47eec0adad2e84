// Tensor objects for aliases: an op needs one per tensor argument, and making one costs more than a small add.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "launch/tensor_access.h"

namespace neuron::launch {

class AliasPool {
 public:
  // The pool of this thread. Leaked: tensors are destroyed during thread exit, after thread-locals may be gone.
  static AliasPool& of_this_thread() {
    static thread_local AliasPool* pool NEURON_TLS = nullptr;
    if (C10_UNLIKELY(!pool)) pool = new AliasPool;
    return *pool;
  }

  c10::intrusive_ptr<c10::TensorImpl> take() {
    if (C10_UNLIKELY(free_.empty())) return make();
    auto tensor = std::move(free_.back());
    free_.pop_back();
    return tensor;
  }

  // Takes the object back, unless somebody else holds it too.
  void give(at::Tensor&& tensor) {
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (C10_UNLIKELY(free_.size() >= kCapacity || c10::raw::intrusive_ptr::use_count(impl) != 1)) {
      tensor.reset();
      return;
    }
    TensorAccess::of(impl)->storage_field() = no_storage_;
    free_.push_back(tensor.unsafeReleaseIntrusivePtr());
  }

 private:
  static constexpr size_t kCapacity = 512;

  AliasPool();
  c10::intrusive_ptr<c10::TensorImpl> make() const;

  c10::Storage no_storage_;
  std::vector<c10::intrusive_ptr<c10::TensorImpl>> free_;
};

}  // namespace neuron::launch
