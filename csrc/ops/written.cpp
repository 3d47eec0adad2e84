// Registers the kernels written here because PyTorch has none for CPU.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_rms_norm_backward_ops.h>
#include <ATen/ops/_fused_rms_norm_ops.h>
#include <ATen/ops/_thnn_fused_gru_cell_backward_ops.h>
#include <ATen/ops/_thnn_fused_gru_cell_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_backward_impl_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_ops.h>
#include <ATen/ops/batch_norm_backward_elemt_ops.h>
#include <ATen/ops/batch_norm_backward_reduce_ops.h>
#include <ATen/ops/batch_norm_elemt_ops.h>
#include <ATen/ops/batch_norm_gather_stats_ops.h>
#include <ATen/ops/batch_norm_gather_stats_with_counts_ops.h>
#include <ATen/ops/batch_norm_stats_ops.h>
#include <ATen/ops/native_dropout_backward_ops.h>

#include "launch/typed.h"
#include "ops/kernels/dropout_backward.h"
#include "ops/kernels/rms_norm.h"
#include "ops/kernels/rnn_cells.h"
#include "ops/kernels/sync_batch_norm.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;
using launch::register_typed;
using launch::WrittenKernel;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  register_typed<op::native_dropout_backward, WrittenKernel<&kernels::native_dropout_backward>>(library);

  register_typed<op::_thnn_fused_lstm_cell, WrittenKernel<&kernels::thnn_fused_lstm_cell>>(library);
  register_typed<op::_thnn_fused_lstm_cell_backward_impl, WrittenKernel<&kernels::thnn_fused_lstm_cell_backward_impl>>(
      library);
  register_typed<op::_thnn_fused_gru_cell, WrittenKernel<&kernels::thnn_fused_gru_cell>>(library);
  register_typed<op::_thnn_fused_gru_cell_backward, WrittenKernel<&kernels::thnn_fused_gru_cell_backward>>(library);

  register_typed<op::_fused_rms_norm, WrittenKernel<&kernels::fused_rms_norm>>(library);
  register_typed<op::_fused_rms_norm_backward, WrittenKernel<&kernels::fused_rms_norm_backward>>(library);

  register_typed<op::batch_norm_stats, WrittenKernel<&kernels::batch_norm_stats>>(library);
  register_typed<op::batch_norm_elemt, WrittenKernel<&kernels::batch_norm_elemt>>(library);
  register_typed<op::batch_norm_elemt_out, WrittenKernel<&kernels::batch_norm_elemt_out>>(library);
  register_typed<op::batch_norm_gather_stats, WrittenKernel<&kernels::batch_norm_gather_stats>>(library);
  register_typed<op::batch_norm_gather_stats_with_counts, WrittenKernel<&kernels::batch_norm_gather_stats_with_counts>>(
      library);
  register_typed<op::batch_norm_backward_reduce, WrittenKernel<&kernels::batch_norm_backward_reduce>>(library);
  register_typed<op::batch_norm_backward_elemt, WrittenKernel<&kernels::batch_norm_backward_elemt>>(library);
}

}  // namespace
}  // namespace neuron::ops
