// Copies in all directions, and reading a scalar.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense_ops.h>
#include <ATen/ops/copy_ops.h>
#include <torch/library.h>

#include "backend/allocator.h"
#include "launch/call.h"
#include "launch/check.h"
#include "launch/coverage.h"
#include "launch/ledger.h"
#include "launch/registration.h"

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

// Values are converted on the way, as CPU's copy_ converts them; the two sides may be on any devices.
void copy(const Tensor& source, const Tensor& destination) {
  static launch::OperatorEntry& entry = launch::operator_entry("aten::copy_");
  check_layout(source);
  check_layout(destination);
  backend::ensure_started();
  launch::ledger::count_native(entry);
  // What the copy needs besides (a contiguous intermediate) is host memory of the transfer: no placement.
  launch::Call call(entry.name, /*device=*/-1, device::Charge::kHost);
  Tensor from = call.alias(source);
  Tensor to = call.alias_to_write(destination);
  at::_ops::copy_::redispatch(launch::kCpuKey, to, from, /*non_blocking=*/false);
  if (!from.is_same(source)) call.recycle(std::move(from));
  if (!to.is_same(destination)) call.recycle(std::move(to));
  call.finish();
}

Tensor& copy_(Tensor& self, const Tensor& source, bool) {
  if (!self.is_same(source)) copy(source, self);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& destination, bool) {
  copy(self, destination);
  return destination;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& destination) {
  destination.resize_(self.sizes());
  return copy_from(self, destination, false);
}

Scalar local_scalar_dense(const Tensor& self) {
  static launch::OperatorEntry& entry = launch::operator_entry("aten::_local_scalar_dense");
  backend::ensure_started();
  launch::ledger::count_native(entry);
  launch::Call call(entry.name, /*device=*/-1, device::Charge::kHost);
  Tensor alias = call.alias(self);
  Scalar value = at::_ops::_local_scalar_dense::redispatch(launch::kCpuKey, alias);
  call.recycle(std::move(alias));
  call.finish();
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
