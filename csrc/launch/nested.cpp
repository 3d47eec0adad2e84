#include "launch/nested.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/ops/clone_ops.h>

#include "backend/allocator.h"

namespace neuron::launch {
namespace {

using at::native::NestedTensorImpl;

at::Tensor rebuild(const c10::TensorImpl* nested, c10::Storage storage, c10::DispatchKey key) {
  const auto* source = static_cast<const NestedTensorImpl*>(nested);
  // The tables describe the tensor to the host: they are not device memory, even if a kernel made them.
  const backend::PlacementGuard on_host(backend::Placement{});
  const auto on_the_host = [](const at::Tensor& table) { return at::_ops::clone::call(table, std::nullopt); };
  return at::detail::make_tensor<NestedTensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), source->dtype(), on_the_host(source->get_nested_sizes()),
      on_the_host(source->get_nested_strides()), on_the_host(source->get_storage_offsets()));
}

}  // namespace

at::Tensor nested_alias(const c10::TensorImpl* original, c10::Storage storage) {
  return rebuild(original, std::move(storage), c10::DispatchKey::NestedTensorCPU);
}

at::Tensor nested_on_neuron(const c10::TensorImpl* cpu, c10::Storage storage) {
  return rebuild(cpu, std::move(storage), c10::DispatchKey::NestedTensorPrivateUse1);
}

}  // namespace neuron::launch
