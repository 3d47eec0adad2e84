#include "ops/kernels/sync_batch_norm.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var_mean.h>

#include <vector>

namespace neuron::ops::kernels {
namespace {

at::ScalarType statistics_type(const at::Tensor& input) { return at::toOpMathType(input.scalar_type()); }

void check_input(const char* op, const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions, rows and channels, but has size ",
              input.sizes());
}

std::vector<int64_t> all_but_channels(const at::Tensor& input) {
  std::vector<int64_t> dims{0};
  for (int64_t dim = 2; dim < input.dim(); ++dim) dims.push_back(dim);
  return dims;
}

// One value a channel, shaped to broadcast over `input`, in the dtype of the statistics.
at::Tensor per_channel(const at::Tensor& values, const at::Tensor& input) {
  std::vector<int64_t> shape(input.dim(), 1);
  shape[1] = input.size(1);
  return values.to(statistics_type(input)).view(shape);
}

bool given(const std::optional<at::Tensor>& tensor) { return tensor.has_value() && tensor->defined(); }

void move_towards(const std::optional<at::Tensor>& running, const at::Tensor& value, double momentum) {
  if (!given(running)) return;
  running->copy_(running->to(value.scalar_type()).mul(1 - momentum).add_(value, momentum));
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& input, double eps) {
  check_input("batch_norm_stats", input);
  auto [variance, mean] = at::var_mean(input.to(statistics_type(input)), all_but_channels(input), /*unbiased=*/false);
  return {std::move(mean), variance.add_(eps).rsqrt_()};
}

at::Tensor batch_norm_elemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& mean, const at::Tensor& invstd,
                            double /*eps*/) {
  check_input("batch_norm_elemt", input);
  at::Tensor scale = per_channel(invstd, input);
  if (given(weight)) scale = scale.mul(per_channel(*weight, input));
  at::Tensor output = input.to(statistics_type(input)).sub(per_channel(mean, input)).mul_(scale);
  if (given(bias)) output.add_(per_channel(*bias, input));
  return output.to(input.scalar_type());
}

at::Tensor& batch_norm_elemt_out(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                 const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                                 const at::Tensor& invstd, double eps, at::Tensor& out) {
  const at::Tensor output = kernels::batch_norm_elemt(input, weight, bias, mean, invstd, eps);
  if (out.sizes() != output.sizes()) out.resize_(output.sizes());
  return out.copy_(output);
}

std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats_with_counts(const at::Tensor& input, const at::Tensor& mean,
                                                                       const at::Tensor& invstd,
                                                                       const std::optional<at::Tensor>& running_mean,
                                                                       const std::optional<at::Tensor>& running_var,
                                                                       double momentum, double eps,
                                                                       const at::Tensor& counts) {
  TORCH_CHECK(mean.dim() == 2 && mean.sizes() == invstd.sizes() && counts.numel() == mean.size(0),
              "batch_norm_gather_stats_with_counts: mean and invstd must have size [workers, channels] and counts one "
              "value for each worker, but got mean ",
              mean.sizes(), ", invstd ", invstd.sizes(), ", counts ", counts.sizes());
  const at::ScalarType type = statistics_type(input);
  const at::Tensor count = counts.to(type).view({-1, 1});
  const at::Tensor total = count.sum();
  const at::Tensor means = mean.to(type);
  const at::Tensor combined_mean = means.mul(count).sum(0).div_(total);
  const at::Tensor variances = invstd.to(type).pow(-2).sub_(eps);
  // The sum of squared distances from the mean of all elements.
  const at::Tensor squares = means.sub(combined_mean).square_().add_(variances).mul_(count).sum(0);
  move_towards(running_mean, combined_mean, momentum);
  move_towards(running_var, squares.div(total.sub(1)), momentum);
  return {combined_mean, squares.div(total).add_(eps).rsqrt_()};
}

std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats(const at::Tensor& input, const at::Tensor& mean,
                                                           const at::Tensor& invstd,
                                                           const std::optional<at::Tensor>& running_mean,
                                                           const std::optional<at::Tensor>& running_var,
                                                           double momentum, double eps, int64_t count) {
  TORCH_CHECK(mean.dim() == 2, "batch_norm_gather_stats: mean must have size [workers, channels], but has size ",
              mean.sizes());
  const at::Tensor counts = at::full({mean.size(0)}, count, mean.options().dtype(statistics_type(input)));
  return kernels::batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps,
                                                      counts);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_backward_reduce(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const std::optional<at::Tensor>& weight, bool input_g, bool weight_g, bool bias_g) {
  check_input("batch_norm_backward_reduce", input);
  const at::ScalarType type = statistics_type(input);
  const at::ScalarType parameter_type = given(weight) ? weight->scalar_type() : type;
  const std::vector<int64_t> dims = all_but_channels(input);
  const at::Tensor grad = grad_out.to(type);
  at::Tensor sum_dy, sum_dy_xmu, grad_weight, grad_bias;
  if (input_g || bias_g) sum_dy = at::sum(grad, dims);
  if (input_g || weight_g) sum_dy_xmu = at::sum(grad.mul(input.to(type).sub(per_channel(mean, input))), dims);
  if (weight_g) grad_weight = sum_dy_xmu.mul(invstd).to(parameter_type);
  if (bias_g) grad_bias = sum_dy.to(parameter_type, /*non_blocking=*/false, /*copy=*/true);
  if (!input_g) return {at::Tensor(), at::Tensor(), std::move(grad_weight), std::move(grad_bias)};
  return {std::move(sum_dy), std::move(sum_dy_xmu), std::move(grad_weight), std::move(grad_bias)};
}

at::Tensor batch_norm_backward_elemt(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
                                     const at::Tensor& invstd, const std::optional<at::Tensor>& weight,
                                     const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& count) {
  check_input("batch_norm_backward_elemt", input);
  const at::ScalarType type = statistics_type(input);
  const at::Tensor total = count.to(type).sum();
  const at::Tensor std_inverse = per_channel(invstd, input);
  const at::Tensor mean_dy = per_channel(sum_dy, input).div(total);
  const at::Tensor slope = per_channel(sum_dy_xmu, input).div(total).mul_(std_inverse.square());
  const at::Tensor scale = given(weight) ? std_inverse.mul(per_channel(*weight, input)) : std_inverse;
  const at::Tensor from_mean = input.to(type).sub(per_channel(mean, input));
  return grad_out.to(type).sub(mean_dy).sub_(from_mean.mul(slope)).mul_(scale).to(input.scalar_type());
}

}  // namespace neuron::ops::kernels
