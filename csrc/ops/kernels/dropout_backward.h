#pragma once

#include <ATen/core/Tensor.h>

namespace neuron::ops::kernels {

// grad_output, mask: same sizes, mask of bool; scale = 1 / (1 - p). PyTorch uses native_dropout on every device but
// CPU, whose own dropout multiplies by a noise of the gradient's dtype; so does this, for CPU's bits in low precision.
at::Tensor native_dropout_backward(const at::Tensor& grad_output, const at::Tensor& mask, double scale);

}  // namespace neuron::ops::kernels
