#include "launch/alias_pool.h"

#include "backend/allocator.h"

namespace neuron::launch {

AliasPool::AliasPool()
    : no_storage_(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                        c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)),
                                                        backend::cpu_allocator(), /*resizable=*/true)) {
  free_.reserve(kCapacity);
}

c10::intrusive_ptr<c10::TensorImpl> AliasPool::make() const {
  return c10::make_intrusive<c10::TensorImpl>(c10::Storage(no_storage_), kCpuKey, caffe2::TypeMeta::Make<float>());
}

}  // namespace neuron::launch
