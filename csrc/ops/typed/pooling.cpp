// Typed launches of pooling.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_adaptive_avg_pool2d_backward_ops.h>
#include <ATen/ops/_adaptive_avg_pool2d_ops.h>
#include <ATen/ops/avg_pool2d_backward_ops.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::max_pool2d_with_indices, op::max_pool2d_with_indices_backward, op::avg_pool2d,
                             op::avg_pool2d_backward, op::_adaptive_avg_pool2d, op::_adaptive_avg_pool2d_backward>(
      library);
}

}  // namespace
}  // namespace neuron::ops
