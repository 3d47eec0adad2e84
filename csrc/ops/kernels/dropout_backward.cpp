#include "ops/kernels/dropout_backward.h"

#include <ATen/ops/mul.h>

namespace neuron::ops::kernels {

// In this order, as on CPU: it decides the sign of zeros.
at::Tensor native_dropout_backward(const at::Tensor& grad_output, const at::Tensor& mask, double scale) {
  return at::mul(at::mul(grad_output, mask), scale);
}

}  // namespace neuron::ops::kernels
