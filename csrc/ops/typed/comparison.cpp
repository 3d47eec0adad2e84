// Typed launches of comparison, selection and logic.
#include <ATen/core/Tensor.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/bitwise_not_ops.h>
#include <ATen/ops/bitwise_or_ops.h>
#include <ATen/ops/clamp_max_ops.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/isnan_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/where_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::eq_Tensor, op::eq_Scalar, op::ne_Tensor, op::ne_Scalar, op::lt_Tensor, op::lt_Scalar,
                             op::le_Tensor, op::le_Scalar, op::gt_Tensor, op::gt_Scalar, op::ge_Tensor, op::ge_Scalar,
                             op::where_self, op::clamp, op::clamp_min, op::clamp_max, op::bitwise_and_Tensor,
                             op::bitwise_or_Tensor, op::bitwise_not, op::maximum, op::minimum, op::masked_fill__Scalar,
                             op::masked_fill__Tensor, op::isnan>(library);
}

}  // namespace
}  // namespace neuron::ops
