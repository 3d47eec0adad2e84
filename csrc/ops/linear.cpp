// linear. TorchNeuron has a kernel for it, so autograd does not look into it and asks for linear_backward.
#include "ops/kernels/linear.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/linear_backward_ops.h>
#include <ATen/ops/linear_ops.h>
#include <c10/core/InferenceMode.h>

#include "launch/typed.h"
#include "ops/kernels/linear_backward.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;
using launch::WrittenKernel;
using Folded = launch::Typed<op::linear, WrittenKernel<&kernels::folded_linear>>;

// at::matmul folds an input that is not contiguous if the weight requires a gradient, which only the tensor itself
// knows, not its alias.
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  if (C10_UNLIKELY(input.dim() >= 3 && weight.dim() == 2 && weight.requires_grad() && !kernels::is_foldable(input) &&
                   !c10::InferenceMode::is_enabled() && input.size(-1) == weight.size(1))) {
    return Folded::call(input, weight, bias);
  }
  return launch::Typed<op::linear>::call(input, weight, bias);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::prepare_typed<op::linear>();
  launch::prepare_typed<op::linear, WrittenKernel<&kernels::folded_linear>>();
  library.impl("linear", TORCH_FN(linear));
  launch::note_registered_by_hand("aten::linear");
  launch::register_typed<op::linear_backward, WrittenKernel<&kernels::linear_backward>>(library);
}

}  // namespace
}  // namespace neuron::ops
