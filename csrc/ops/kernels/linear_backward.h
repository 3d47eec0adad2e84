// The gradient of linear(self, weight, bias), which PyTorch implements only as a composite of other gradients on CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <tuple>

namespace neuron::ops::kernels {

// self: * x in (any leading sizes, or none); weight: out x in, or in; grad_output: * x out, or * for a 1-D weight.
// Returns the gradients of self, weight and bias that output_mask asks for, the others undefined. The products and
// their order are those of CPU autograd, so the bits are too.
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& self, const at::Tensor& grad_output,
                                                               const at::Tensor& weight,
                                                               std::array<bool, 3> output_mask);

}  // namespace neuron::ops::kernels
