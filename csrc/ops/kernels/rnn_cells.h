// Fused LSTM and GRU cells over CPU tensors. PyTorch asks every device but the CPU for them.
//
// The arithmetic is that of the unfused CPU cell, rounding by rounding, so a cell on neuron gives the CPU's bits
// wherever the matrix products before it do. Sizes: N rows, H hidden units; float64, float32, float16 or bfloat16
// throughout.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace neuron::ops::kernels {

// input_gates, hidden_gates: N x 4H, in the order input, forget, cell, output; cx: N x H; biases: 4H, both or none.
// Returns hy, cy (N x H) and the workspace: the activated gates, N x 4H.
std::tuple<at::Tensor, at::Tensor, at::Tensor> thnn_fused_lstm_cell(const at::Tensor& input_gates,
                                                                    const at::Tensor& hidden_gates,
                                                                    const at::Tensor& cx,
                                                                    const std::optional<at::Tensor>& input_bias,
                                                                    const std::optional<at::Tensor>& hidden_bias);

// Either gradient may be absent. Returns the gradients of the gates (N x 4H), of cx, and of one bias (undefined without
// bias); all undefined when both gradients are absent.
std::tuple<at::Tensor, at::Tensor, at::Tensor> thnn_fused_lstm_cell_backward_impl(
    const std::optional<at::Tensor>& grad_hy, const std::optional<at::Tensor>& grad_cy, const at::Tensor& cx,
    const at::Tensor& cy, const at::Tensor& workspace, bool has_bias);

// input_gates, hidden_gates: N x 3H, in the order reset, update, new; hx: N x H; biases: 3H, both or none.
// Returns hy (N x H) and the workspace, N x 5H: reset, update, new, hx, hidden part of new with its bias.
std::tuple<at::Tensor, at::Tensor> thnn_fused_gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                       const at::Tensor& hx,
                                                       const std::optional<at::Tensor>& input_bias,
                                                       const std::optional<at::Tensor>& hidden_bias);

// Returns the gradients of input_gates, hidden_gates, hx, input_bias and hidden_bias (the last two undefined without
// bias).
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> thnn_fused_gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias);

}  // namespace neuron::ops::kernels
