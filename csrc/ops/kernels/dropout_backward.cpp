#include "ops/kernels/dropout_backward.h"

#include <ATen/ops/mul.h>

namespace neuron::ops::kernels {

at::Tensor native_dropout_backward(const at::Tensor& grad_output, const at::Tensor& mask, double scale) {
  return at::mul(grad_output, mask.to(grad_output.scalar_type()).mul(scale));
}

}  // namespace neuron::ops::kernels
