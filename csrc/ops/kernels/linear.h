// The forward of linear where CPU's own choice of matrix product depends on what an alias cannot tell.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace neuron::ops::kernels {

// Whether input.view({rows, features}) is possible, so that PyTorch multiplies one matrix in any case (`should_fold` of
// at::matmul).
bool is_foldable(const at::Tensor& input);

// input: * x in, three or more dimensions; weight: out x in. Copies the input into one matrix, as at::matmul does when
// the weight requires a gradient, and adds the bias afterwards.
at::Tensor folded_linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias);

}  // namespace neuron::ops::kernels
