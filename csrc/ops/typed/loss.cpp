// Typed launches of losses.
#include <ATen/core/Tensor.h>
#include <ATen/ops/mse_loss_backward_ops.h>
#include <ATen/ops/mse_loss_ops.h>
#include <ATen/ops/nll_loss2d_backward_ops.h>
#include <ATen/ops/nll_loss2d_forward_ops.h>
#include <ATen/ops/nll_loss_backward_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::nll_loss_forward, op::nll_loss_backward, op::nll_loss2d_forward,
                             op::nll_loss2d_backward, op::mse_loss, op::mse_loss_backward>(library);
}

}  // namespace
}  // namespace neuron::ops
