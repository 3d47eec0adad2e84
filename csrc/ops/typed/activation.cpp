// Typed launches of activations and their backwards.
#include <ATen/core/Tensor.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/leaky_relu_backward_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/native_dropout_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/softplus_ops.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_backward_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::relu, op::relu_, op::gelu, op::gelu_backward, op::silu, op::silu_backward, op::sigmoid,
                             op::sigmoid_backward, op::tanh, op::tanh_backward, op::threshold_backward, op::softplus,
                             op::leaky_relu, op::leaky_relu_backward, op::native_dropout>(library);
}

}  // namespace
}  // namespace neuron::ops
