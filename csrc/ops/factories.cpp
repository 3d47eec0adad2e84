// Allocation: the factories that every other one is built on.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/clone.h>
#include <c10/core/TensorOptions.h>
#include <torch/library.h>

#include "backend/allocator.h"
#include "launch/check.h"
#include "launch/coverage.h"
#include "launch/ledger.h"
#include "launch/registration.h"

namespace neuron::ops {
namespace {

using at::IntArrayRef;
using at::Tensor;
using backend::Placement;
using backend::PlacementGuard;

// The device allocator gives memory on the device that the placement names.
Placement place_on(const char* op, std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                   std::optional<bool> pin_memory) {
  const c10::Device resolved = backend::resolve_device(device.value_or(c10::Device(backend::kNeuron)));
  TORCH_CHECK(!pin_memory.value_or(false), op,
              ": only dense CPU tensors can be pinned, and this one is to be on neuron; leave pin_memory out");
  if (layout.value_or(c10::kStrided) != c10::kStrided) launch::throw_unsupported_layout(op, *layout);
  return {resolved.index(), device::Charge::kTensor};
}

// Under torch.use_deterministic_algorithms, uninitialised memory is filled, as on every device.
Tensor determined(Tensor made) {
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(made);
  }
  return made;
}

Tensor empty_memory_format(IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<c10::Layout> layout,
                           std::optional<c10::Device> device, std::optional<bool> pin_memory,
                           std::optional<at::MemoryFormat> memory_format) {
  static launch::OperatorEntry& entry = launch::operator_entry("aten::empty.memory_format");
  const PlacementGuard placed(place_on("aten::empty", layout, device, pin_memory));
  launch::ledger::count_native(entry);
  return determined(at::detail::empty_generic(size, backend::device_allocator(), launch::kNeuronKey,
                                              c10::dtype_or_default(dtype), memory_format));
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<at::ScalarType> dtype,
                     std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                     std::optional<bool> pin_memory) {
  static launch::OperatorEntry& entry = launch::operator_entry("aten::empty_strided");
  const PlacementGuard placed(place_on("aten::empty_strided", layout, device, pin_memory));
  launch::ledger::count_native(entry);
  return determined(at::detail::empty_strided_generic(size, stride, backend::device_allocator(), launch::kNeuronKey,
                                                      c10::dtype_or_default(dtype)));
}

// Gives storages of any size a null pointer.
struct NoMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t) override { return backend::allocate_on(backend::placement.device, 0); }
  void copy_data(void*, const void*, std::size_t) const override {}
};

// A tensor of zeros without memory, as forward-mode AD uses; the ZeroTensor key keeps every kernel from reading it.
Tensor efficientzerotensor(IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<c10::Layout>,
                           std::optional<c10::Device> device, std::optional<bool>) {
  const c10::Device resolved = backend::resolve_device(device.value_or(c10::Device(backend::kNeuron)));
  const PlacementGuard placed(Placement{resolved.index(), device::Charge::kTensor});
  static auto* allocator = new NoMemory;
  return at::detail::empty_generic(size, allocator,
                                   launch::kNeuronKey | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor),
                                   c10::dtype_or_default(dtype), std::nullopt);
}

// PyTorch's lazy clone shares host pages copy-on-write; device memory has no such sharing, so the copy is made at once.
Tensor lazy_clone(const Tensor& self) { return self.clone(at::MemoryFormat::Preserve); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty_memory_format);
  library.impl("empty_strided", &empty_strided);
  library.impl("_efficientzerotensor", &efficientzerotensor);
  library.impl("_lazy_clone", &lazy_clone);
  for (const char* name :
       {"aten::empty.memory_format", "aten::empty_strided", "aten::_efficientzerotensor", "aten::_lazy_clone"}) {
    launch::note_registered_by_hand(name);
  }
}

}  // namespace
}  // namespace neuron::ops
