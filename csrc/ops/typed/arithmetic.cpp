// Typed launches of elementwise arithmetic.
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addcdiv_ops.h>
#include <ATen/ops/addcmul_ops.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/zero_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::add_Tensor, op::add__Tensor, op::add_out, op::sub_Tensor, op::sub__Tensor,
                             op::mul_Tensor, op::mul__Tensor, op::mul_out, op::div_Tensor, op::div__Tensor, op::div_out,
                             op::neg, op::abs, op::exp, op::log, op::sqrt, op::sqrt_, op::rsqrt, op::sin, op::cos,
                             op::reciprocal, op::pow_Tensor_Scalar, op::pow_Tensor_Tensor, op::addcmul_, op::addcdiv_,
                             op::addcmul, op::addcdiv, op::lerp__Scalar, op::lerp_Scalar, op::fill__Scalar, op::zero_>(
      library);
}

}  // namespace
}  // namespace neuron::ops
