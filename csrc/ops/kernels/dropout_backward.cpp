#include "ops/kernels/dropout_backward.h"

#include <ATen/ops/mul.h>

namespace neuron::ops::kernels {

at::Tensor native_dropout_backward(const at::Tensor& grad_output, const at::Tensor& mask, double scale) {
  // Integers have no dropout to train with: as CPU's own kernel, whose order decides the sign of zeros.
  if (!grad_output.is_floating_point()) return at::mul(at::mul(grad_output, mask), scale);
  // CPU trains with the composed dropout, which multiplies by noise that is scaled already.
  return at::mul(grad_output, mask.to(grad_output.scalar_type()).mul_(scale));
}

}  // namespace neuron::ops::kernels
