#include "ops/kernels/linear.h"

#include <ATen/ops/mm.h>

#include <vector>

namespace neuron::ops::kernels {

bool is_foldable(const at::Tensor& input) {
  if (input.numel() == 0) return true;
  for (int64_t i = 0; i + 2 < input.dim(); ++i) {
    if (input.stride(i) != input.stride(i + 1) * input.size(i + 1)) return false;
  }
  return true;
}

at::Tensor folded_linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  std::vector<int64_t> sizes = input.sizes().vec();
  const int64_t features = sizes.back();
  sizes.back() = weight.size(0);
  const int64_t rows = c10::multiply_integers(input.sizes().slice(0, input.dim() - 1));
  at::Tensor output = at::mm(input.reshape({rows, features}), weight.t()).view(sizes);
  if (bias.has_value() && bias->defined()) output.add_(*bias);
  return output;
}

}  // namespace neuron::ops::kernels
