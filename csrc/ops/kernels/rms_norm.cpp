#include "ops/kernels/rms_norm.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>

#include <numeric>
#include <vector>

namespace neuron::ops::kernels {
namespace {

std::vector<int64_t> dimensions(int64_t begin, int64_t end) {
  std::vector<int64_t> made(end - begin);
  std::iota(made.begin(), made.end(), begin);
  return made;
}

at::ScalarType compute_type(const at::Tensor& input) { return at::toOpMathType(input.scalar_type()); }

}  // namespace

std::tuple<at::Tensor, at::Tensor> fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                                  const std::optional<at::Tensor>& weight, std::optional<double> eps) {
  return at::_fused_rms_norm(input, normalized_shape, weight, eps);  // on CPU tensors: the composite
}

// The steps of CPU autograd through that composite, in its order.
std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const std::optional<at::Tensor>& weight,
                                                           std::array<bool, 2> output_mask) {
  const int64_t leading = input.dim() - static_cast<int64_t>(normalized_shape.size());
  TORCH_CHECK(leading >= 0 && input.sizes().slice(leading) == normalized_shape,
              "_fused_rms_norm_backward: normalized_shape must be the last sizes of input, but normalized_shape is ",
              normalized_shape, " and input has size ", input.sizes());
  const bool has_weight = weight.has_value() && weight->defined();
  const at::Tensor x = input.to(compute_type(input));
  at::Tensor grad = grad_out.to(x.scalar_type());
  at::Tensor grad_input, grad_weight;
  if (output_mask[1] && has_weight) {
    grad_weight = at::mul(grad, at::mul(x, rstd));
    if (leading > 0) grad_weight = at::sum(grad_weight, dimensions(0, leading));
    grad_weight = grad_weight.to(weight->scalar_type());
  }
  if (output_mask[0]) {
    if (has_weight) grad = at::mul(grad, *weight);
    const at::Tensor grad_rstd = at::sum(at::mul(grad, x), dimensions(leading, input.dim()), /*keepdim=*/true);
    const at::Tensor grad_mean = at::mul(at::mul(grad_rstd, -0.5), rstd.pow(3));
    const at::Tensor grad_square = grad_mean.expand(x.sizes()).div(c10::multiply_integers(normalized_shape));
    grad_input = at::mul(grad, rstd).add_(at::mul(grad_square, at::mul(x, 2.0))).to(input.scalar_type());
  }
  return {std::move(grad_input), std::move(grad_weight)};
}

}  // namespace neuron::ops::kernels
