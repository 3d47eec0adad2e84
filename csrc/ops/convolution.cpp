// Convolution. PyTorch chooses its algorithm by the device of the tensors, so the launch takes place above that choice:
// on the aliases, CPU's own choice is made.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_convolution_ops.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_backward_overrideable_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/convolution_overrideable_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

// The two ops by which PyTorch hands convolutions to a backend have no CPU kernel; they mean the ordinary ones.
at::Tensor convolution_overrideable(const at::Tensor& input, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                                    c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed,
                                    c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  return op::convolution::call(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                               std::move(groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward_overrideable(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, c10::SymIntArrayRef stride,
    c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed, c10::SymIntArrayRef output_padding,
    c10::SymInt groups, std::array<bool, 3> output_mask) {
  return op::convolution_backward::call(grad_output, input, weight, std::nullopt, stride, padding, dilation, transposed,
                                        output_padding, std::move(groups), output_mask);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::convolution, op::convolution_backward, op::_convolution>(library);
  launch::register_typed<op::convolution_overrideable, launch::WrittenKernel<&convolution_overrideable>>(library);
  launch::register_typed<op::convolution_backward_overrideable,
                         launch::WrittenKernel<&convolution_backward_overrideable>>(library);
}

}  // namespace
}  // namespace neuron::ops
