#include "ops/kernels/histogram.h"

#include <ATen/ops/histc.h>

namespace neuron::ops::kernels {

at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max) {
  if (!c10::isIntegralType(self.scalar_type(), /*includeBool=*/false)) return at::histc(self, bins, min, max);
  return at::histc(self.to(at::kDouble), bins, min, max).to(self.scalar_type());
}

}  // namespace neuron::ops::kernels
