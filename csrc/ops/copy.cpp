// Copies in all directions, and reading a scalar.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense_ops.h>
#include <ATen/ops/copy_ops.h>
#include <torch/library.h>

#include "backend/allocator.h"
#include "launch/call.h"
#include "launch/check.h"
#include "launch/compile_cache.h"
#include "launch/coverage.h"
#include "launch/ledger.h"
#include "launch/registration.h"
#include "launch/timing.h"

namespace neuron::ops {
namespace {

using at::Scalar;
using at::Tensor;

void check_layout(const Tensor& tensor) {
  if (tensor.layout() != c10::kStrided ||
      (launch::is_on_neuron(tensor.unsafeGetTensorImpl()) && !launch::is_neuron(tensor.unsafeGetTensorImpl()))) {
    launch::throw_unsupported_layout("aten::copy_", tensor.layout());
  }
}

// Within device memory as the cost model has it, else a transfer of the device's side.
launch::Duration duration_of_copy(const launch::OperatorEntry& entry, const Tensor& source, const Tensor& destination) {
  const bool from_device = source.device().type() == backend::kNeuron;
  if (from_device && destination.device().type() == backend::kNeuron) {
    launch::KeyDescription description;
    for (const Tensor& tensor : {destination, source}) {
      description.see(tensor);
      description.end_argument();
    }
    description.output(destination.unsafeGetTensorImpl());
    return launch::duration_of(entry, description);
  }
  const Tensor& on_device = from_device ? source : destination;
  return launch::transfer_duration(on_device.numel() * static_cast<int64_t>(on_device.itemsize()));
}

void record_copy(launch::OperatorEntry& entry, const Tensor& source, const Tensor& destination, bool non_blocking) {
  const launch::Duration duration = duration_of_copy(entry, source, destination);
  launch::compile_cache::count_time(entry, duration);
  const Tensor& on_device = destination.device().type() == backend::kNeuron ? destination : source;
  launch::run_on_clock(on_device.device().index(), entry, duration, /*host_waits=*/!non_blocking);
}

// Values are converted on the way, as CPU's copy_ converts them; the two sides may be on any devices.
void copy(const Tensor& source, const Tensor& destination, bool non_blocking) {
  static launch::OperatorEntry& entry = launch::operator_entry("aten::copy_");
  check_layout(source);
  check_layout(destination);
  backend::ensure_started();
  // What the copy needs besides (a contiguous intermediate) is host memory of the transfer: no placement.
  launch::Call call(entry.name, /*device=*/-1, device::Charge::kHost);
  Tensor from = call.alias(source);
  Tensor to = call.alias_to_write(destination);
  at::_ops::copy_::redispatch(launch::kCpuKey, to, from, /*non_blocking=*/false);
  if (!from.is_same(source)) call.recycle(std::move(from));
  if (!to.is_same(destination)) call.recycle(std::move(to));
  call.finish();
  launch::ledger::count_native(entry, call.bytes());
  record_copy(entry, source, destination, non_blocking);
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  if (!self.is_same(source)) copy(source, self, non_blocking);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& destination, bool non_blocking) {
  copy(self, destination, non_blocking);
  return destination;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& destination) {
  destination.resize_(self.sizes());
  return copy_from(self, destination, false);
}

Scalar local_scalar_dense(const Tensor& self) {
  static launch::OperatorEntry& entry = launch::operator_entry("aten::_local_scalar_dense");
  backend::ensure_started();
  launch::Call call(entry.name, /*device=*/-1, device::Charge::kHost);
  Tensor alias = call.alias(self);
  Scalar value = at::_ops::_local_scalar_dense::redispatch(launch::kCpuKey, alias);
  call.recycle(std::move(alias));
  call.finish();
  launch::ledger::count_native(entry, call.bytes());
  const launch::Duration duration = launch::transfer_duration(call.bytes());
  launch::compile_cache::count_time(entry, duration);
  launch::run_on_clock(self.device().index(), entry, duration);
  return value;
}

// Values are computed at the call, so a block may be reused as soon as it is freed: nothing to remember.
void record_stream(Tensor&, c10::Stream) {}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("copy_", &copy_);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("_local_scalar_dense", &local_scalar_dense);
  library.impl("record_stream", &record_stream);
  for (const char* name : {"aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize",
                           "aten::_local_scalar_dense", "aten::record_stream"}) {
    launch::note_registered_by_hand(name);
  }
}

}  // namespace
}  // namespace neuron::ops
