// Lets `parameter.data = tensor_on_neuron` and module.to("neuron") keep the Parameter object, so that an optimizer
// built before the move goes on training. PyTorch's own answer knows a fixed list of backends, without PrivateUse1.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "launch/registration.h"

namespace neuron::ops {
namespace {

bool is_dense_here(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && (tensor.is_cpu() || tensor.is_privateuseone()) && !tensor.is_quantized() &&
         !tensor.is_nested();
}

bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  return is_dense_here(self) && is_dense_here(from);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_has_compatible_shallow_copy_type", &has_compatible_shallow_copy_type);
  launch::note_registered_by_hand("aten::_has_compatible_shallow_copy_type");
}

}  // namespace
}  // namespace neuron::ops
