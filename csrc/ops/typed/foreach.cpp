// Typed launches of the foreach ops that the real product has.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add_ops.h>
#include <ATen/ops/_foreach_div_ops.h>
#include <ATen/ops/_foreach_mul_ops.h>
#include <ATen/ops/_foreach_norm_ops.h>
#include <ATen/ops/_foreach_sub_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::_foreach_add__Scalar, op::_foreach_add__List, op::_foreach_add__ScalarList,
                             op::_foreach_mul__Scalar, op::_foreach_mul__List, op::_foreach_mul__Tensor,
                             op::_foreach_mul_Scalar, op::_foreach_mul_List, op::_foreach_div__Scalar,
                             op::_foreach_div__List, op::_foreach_div__ScalarList, op::_foreach_sub__Scalar,
                             op::_foreach_sub__List, op::_foreach_sub_List, op::_foreach_add_List,
                             op::_foreach_add_Scalar, op::_foreach_div_List, op::_foreach_norm_Scalar>(library);
}

}  // namespace
}  // namespace neuron::ops
