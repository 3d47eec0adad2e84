// RMS normalisation with the statistics that its gradient needs.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>

namespace neuron::ops::kernels {

// Normalises the last normalized_shape.size() dimensions. Returns the output, in the dtype of the input, and
// rstd = 1 / sqrt(mean(input^2) + eps), with those dimensions kept as 1, in float32 for float16 and bfloat16 inputs.
// eps defaults to the epsilon of the dtype computed in. Bits are those of torch.nn.functional.rms_norm on CPU.
std::tuple<at::Tensor, at::Tensor> fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                                  const std::optional<at::Tensor>& weight, std::optional<double> eps);

// Returns the gradients of input and weight that output_mask asks for, the others undefined.
std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const std::optional<at::Tensor>& weight,
                                                           std::array<bool, 2> output_mask);

}  // namespace neuron::ops::kernels
