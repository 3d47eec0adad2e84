// Typed launches of matrix products.
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/addmv_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/dot_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mv_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::mm, op::mm_out, op::bmm, op::bmm_out, op::addmm, op::addmm_out, op::baddbmm, op::mv,
                             op::addmv, op::dot>(library);
}

}  // namespace
}  // namespace neuron::ops
