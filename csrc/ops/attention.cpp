// Scaled dot-product attention: which form PyTorch is to use on this device, and the op by which it hands attention to
// a backend.
#include "ops/kernels/attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_scaled_dot_product_fused_attention_overrideable_backward_ops.h>
#include <ATen/ops/_scaled_dot_product_fused_attention_overrideable_ops.h>

#include "launch/typed.h"

namespace at::native {
// scaled_dot_product_attention asks this stub, not the op, for every device that has one.
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &neuron::ops::kernels::sdp_choice)
}  // namespace at::native

namespace neuron::ops {
namespace {

namespace op = at::_ops;
using launch::register_typed;
using launch::WrittenKernel;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_fused_sdp_choice", TORCH_FN(kernels::sdp_choice));
  launch::note_registered_by_hand("aten::_fused_sdp_choice");
  register_typed<op::_scaled_dot_product_fused_attention_overrideable,
                 WrittenKernel<&kernels::scaled_dot_product_fused_attention_overrideable>>(library);
  register_typed<op::_scaled_dot_product_fused_attention_overrideable_backward,
                 WrittenKernel<&kernels::scaled_dot_product_fused_attention_overrideable_backward>>(library);
}

}  // namespace
}  // namespace neuron::ops
