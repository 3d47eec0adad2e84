// linear. TorchNeuron has a kernel for it, so autograd does not look into it and asks for linear_backward.
#include "ops/kernels/linear.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/linear_backward_ops.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/linear_ops.h>
#include <c10/core/GradMode.h>
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

bool has_tangent(const at::Tensor& tensor) { return tensor.defined() && tensor._fw_grad(/*level=*/0).defined(); }

// PyTorch's autograd kernel of linear, whose backward is linear_backward.
c10::SafeKernelFunction& backward_kernel() {
  static auto* kernel =
      new c10::SafeKernelFunction(c10::Dispatcher::singleton()
                                      .findSchemaOrThrow("aten::linear", "")
                                      .getComputedKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1));
  return *kernel;
}

// That kernel knows no forward-mode derivative, and linear_backward no complex numbers; CPU has both through the
// decomposition.
at::Tensor linear_autograd(c10::DispatchKeySet keys, const at::Tensor& input, const at::Tensor& weight,
                           const std::optional<at::Tensor>& bias) {
  const at::Tensor& added = bias.has_value() ? *bias : at::Tensor();
  if (C10_UNLIKELY(input.is_complex() || weight.is_complex() || has_tangent(input) || has_tangent(weight) ||
                   has_tangent(added))) {
    return at::native::linear(input, weight, bias);
  }
  const auto wants_gradient = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  if (!c10::GradMode::is_enabled() || !(wants_gradient(input) || wants_gradient(weight) || wants_gradient(added))) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op::linear::redispatch(keys & c10::after_ADInplaceOrView_keyset, input, weight, bias);
  }
  torch::jit::Stack stack{input, weight, bias};
  backward_kernel().callBoxed(backward_kernel().opHandle(), keys, &stack);
  return std::move(stack.front()).toTensor();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::prepare_typed<op::linear>();
  launch::prepare_typed<op::linear, WrittenKernel<&kernels::folded_linear>>();
  library.impl("linear", TORCH_FN(linear));
  launch::note_registered_by_hand("aten::linear");
  launch::register_typed<op::linear_backward, WrittenKernel<&kernels::linear_backward>>(library);
}

// After the block above: the kernel that is looked up is the one for a device that has linear.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, library) {
  backward_kernel();
  library.impl("linear", TORCH_FN(linear_autograd));
}

}  // namespace
}  // namespace neuron::ops
