#pragma once

#include <ATen/core/Tensor.h>

namespace neuron::ops::kernels {

// Counts in `bins` equal bins between min and max, in the dtype of `self`. CPU's kernel takes floating dtypes only;
// TorchNeuron lists histc as native, and libraries call it on integers on every accelerator. Integers are compared as
// float64, exact up to 2^53.
at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max);

}  // namespace neuron::ops::kernels
