#include "ops/kernels/linear_backward.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/sum.h>

#include <numeric>
#include <vector>

#include "ops/kernels/linear.h"

namespace neuron::ops::kernels {
namespace {

bool is_column_major(const at::Tensor& matrix) { return matrix.stride(0) == 1 && matrix.stride(1) == matrix.size(0); }

// The gradient of `self` in self.mm(other); autograd keeps the gradient in the layout of self.
at::Tensor left_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& other) {
  return is_column_major(self) ? at::mm(other, grad.t()).t() : at::mm(grad, other.t());
}

// The gradient of `other` in self.mm(other).
at::Tensor right_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& other) {
  return is_column_major(other) ? at::mm(grad.t(), self).t() : at::mm(self.t(), grad);
}

at::Tensor sum_of_leading(const at::Tensor& grad, int64_t leading) {
  if (leading == 0) return grad.clone();
  std::vector<int64_t> dims(leading);
  std::iota(dims.begin(), dims.end(), 0);
  return at::sum(grad, dims, /*keepdim=*/false, grad.scalar_type());
}

// weight is a vector: linear is a matrix-vector product.
std::tuple<at::Tensor, at::Tensor, at::Tensor> vector_backward(const at::Tensor& self, const at::Tensor& grad_output,
                                                               const at::Tensor& weight,
                                                               std::array<bool, 3> output_mask) {
  at::Tensor grad_self, grad_weight, grad_bias;
  if (output_mask[0]) grad_self = at::mul(grad_output.unsqueeze(-1), weight);
  if (output_mask[1]) {
    grad_weight = self.dim() == 1 ? at::mul(grad_output, self)
                                  : at::mv(self.reshape({-1, self.size(-1)}).t(), grad_output.reshape({-1}));
  }
  if (output_mask[2]) grad_bias = sum_of_leading(grad_output, grad_output.dim());
  return {std::move(grad_self), std::move(grad_weight), std::move(grad_bias)};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& self, const at::Tensor& grad_output,
                                                               const at::Tensor& weight,
                                                               std::array<bool, 3> output_mask) {
  if (!grad_output.defined()) return {};
  if (weight.dim() == 1) return vector_backward(self, grad_output, weight, output_mask);

  // Sizes are spelled out, since -1 is ambiguous when a tensor is empty.
  const int64_t rows = c10::multiply_integers(self.sizes().slice(0, self.dim() - 1));
  const at::Tensor grad = grad_output.reshape({rows, grad_output.size(-1)});
  const at::Tensor matrix = self.dim() == 2 ? self : self.reshape({rows, self.size(-1)});
  const at::Tensor transposed = weight.t();
  at::Tensor grad_self, grad_weight, grad_bias;
  if (output_mask[0] && !output_mask[1] && self.dim() >= 3 && !is_foldable(self)) {
    // With a weight that needs no gradient, at::matmul does not fold such an input: autograd sees a batched product.
    const int64_t batch = c10::multiply_integers(self.sizes().slice(0, self.dim() - 2));
    const at::Tensor batched = grad_output.reshape({batch, grad_output.size(-2), grad_output.size(-1)});
    grad_self = at::bmm(batched, weight.expand({batch, weight.size(0), weight.size(1)})).view(self.sizes());
  } else if (output_mask[0]) {
    grad_self = left_gradient(grad, matrix, transposed);
    if (self.dim() != 2) grad_self = grad_self.view(self.sizes());
  }
  if (output_mask[1]) grad_weight = right_gradient(grad, matrix, transposed).t();
  if (output_mask[2]) {
    // The forward folds a contiguous input into a matrix and adds the bias there; another one gets its bias afterwards.
    const bool folded = self.dim() <= 2 || self.is_contiguous();
    grad_bias = folded ? at::sum(grad, {0}, /*keepdim=*/false, grad.scalar_type())
                       : sum_of_leading(grad_output, grad_output.dim() - 1);
  }
  return {std::move(grad_self), std::move(grad_weight), std::move(grad_bias)};
}

}  // namespace neuron::ops::kernels
