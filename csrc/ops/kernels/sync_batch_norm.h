// The pieces of torch.nn.SyncBatchNorm over CPU tensors.
//
// C channels are dimension 1 of input; W workers took part. Statistics are in float64 for float64 inputs, else in
// float32, as on CUDA; outputs have the dtype of input.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace neuron::ops::kernels {

// The mean and 1 / sqrt(biased variance + eps) of each channel; both of size C.
std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& input, double eps);

// (input - mean) * invstd * weight + bias.
at::Tensor batch_norm_elemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& mean, const at::Tensor& invstd,
                            double eps);
at::Tensor& batch_norm_elemt_out(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                 const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                                 const at::Tensor& invstd, double eps, at::Tensor& out);

// Combines the workers' statistics (mean, invstd: W x C; counts: W elements a channel each, or one count for all) into
// those of all elements, of size C, and moves running_mean and running_var (unbiased) towards them in place.
std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats_with_counts(const at::Tensor& input, const at::Tensor& mean,
                                                                       const at::Tensor& invstd,
                                                                       const std::optional<at::Tensor>& running_mean,
                                                                       const std::optional<at::Tensor>& running_var,
                                                                       double momentum, double eps,
                                                                       const at::Tensor& counts);
std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats(const at::Tensor& input, const at::Tensor& mean,
                                                           const at::Tensor& invstd,
                                                           const std::optional<at::Tensor>& running_mean,
                                                           const std::optional<at::Tensor>& running_var,
                                                           double momentum, double eps, int64_t count);

// Per channel: sum(grad_out), sum(grad_out * (input - mean)) (both when input_g), the gradient of weight (when
// weight_g), the gradient of bias (when bias_g); those not asked for are undefined.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_backward_reduce(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const std::optional<at::Tensor>& weight, bool input_g, bool weight_g, bool bias_g);

// The gradient of input, from the sums over all workers; count: W elements a channel each.
at::Tensor batch_norm_backward_elemt(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
                                     const at::Tensor& invstd, const std::optional<at::Tensor>& weight,
                                     const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& count);

}  // namespace neuron::ops::kernels
