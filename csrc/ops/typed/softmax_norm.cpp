// Typed launches of softmax and normalisation.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <ATen/ops/native_group_norm_backward_ops.h>
#include <ATen/ops/native_group_norm_ops.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::_softmax, op::_softmax_backward_data, op::_log_softmax, op::_log_softmax_backward_data,
                             op::native_layer_norm, op::native_layer_norm_backward, op::native_batch_norm,
                             op::native_batch_norm_backward, op::native_group_norm, op::native_group_norm_backward>(
      library);
}

}  // namespace
}  // namespace neuron::ops
