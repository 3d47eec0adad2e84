#include "ops/kernels/attention.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <utility>

#include "ops/kernels/attention_math.h"

namespace neuron::ops::kernels {
namespace {

// CPU leaves its flash kernel when the mask needs a gradient. Kernels run below autograd and cannot see that; the
// choice, which scaled_dot_product_attention makes on the same thread just before it calls the op, can.
thread_local bool mask_requires_grad = false;

bool fits(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
          const std::optional<at::Tensor>& attn_mask, bool enable_gqa) {
  for (const at::Tensor& tensor : {query, key, value}) {
    if (tensor.dim() != 4 || tensor.numel() == 0 || tensor.scalar_type() != query.scalar_type()) return false;
  }
  const at::ScalarType type = query.scalar_type();
  if (type != at::kFloat && type != at::kHalf && type != at::kBFloat16) return false;
  const int64_t heads = query.size(1), key_heads = key.size(1);
  if (value.size(1) != key_heads || heads % key_heads != 0 || (heads != key_heads && !enable_gqa)) return false;
  if (query.size(3) != key.size(3)) return false;
  return !attn_mask.has_value() || !attn_mask->defined() || attn_mask->scalar_type() == at::kBool ||
         attn_mask->scalar_type() == type;
}

// A boolean mask as what is added to the scores.
at::Tensor additive(const std::optional<at::Tensor>& attn_bias, at::ScalarType type) {
  if (!attn_bias.has_value() || !attn_bias->defined() || attn_bias->scalar_type() != at::kBool) {
    return attn_bias.value_or(at::Tensor());
  }
  return at::zeros(attn_bias->sizes(), attn_bias->options().dtype(type))
      .masked_fill_(attn_bias->logical_not(), -std::numeric_limits<double>::infinity());
}

std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

bool cpu_takes_flash(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const at::Tensor& attn_bias, double dropout_p, bool is_causal, std::optional<double> scale) {
  const bool grouped = query.size(1) != key.size(1);
  const int64_t choice =
      at::_fused_sdp_choice(query, key, value, if_defined(attn_bias), dropout_p, is_causal, scale, grouped);
  return static_cast<at::SDPBackend>(choice) == at::SDPBackend::flash_attention;
}

}  // namespace

int64_t sdp_choice(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const std::optional<at::Tensor>& attn_mask, double /*dropout_p*/, bool /*is_causal*/,
                   std::optional<double> /*scale*/, bool enable_gqa) {
  const at::Context& context = at::globalContext();
  const bool math_only = context.userEnabledMathSDP() && !context.userEnabledOverrideableSDP();
  if (math_only || !fits(query, key, value, attn_mask, enable_gqa)) return static_cast<int64_t>(at::SDPBackend::math);
  mask_requires_grad = attn_mask.has_value() && attn_mask->defined() && attn_mask->requires_grad();
  return static_cast<int64_t>(at::SDPBackend::overrideable);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
scaled_dot_product_fused_attention_overrideable(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                                const std::optional<at::Tensor>& attn_bias, double dropout_p,
                                                bool is_causal, bool return_debug_mask, std::optional<double> scale) {
  const bool needs_math = std::exchange(mask_requires_grad, false);
  TORCH_CHECK(
      !return_debug_mask,
      "_scaled_dot_product_fused_attention_overrideable: return_debug_mask=True is not supported on neuron; pass "
      "False");
  TORCH_CHECK(
      query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
      "_scaled_dot_product_fused_attention_overrideable: query, key and value must be 4-D (batch, heads, length, "
      "size), but have sizes ",
      query.sizes(), ", ", key.sizes(), ", ", value.sizes());
  TORCH_CHECK(key.size(1) > 0 && query.size(1) % key.size(1) == 0 && key.size(1) == value.size(1),
              "_scaled_dot_product_fused_attention_overrideable: key and value must have one number of heads, which "
              "divides that of query, but query has ",
              query.size(1), ", key ", key.size(1), ", value ", value.size(1));
  const at::Tensor bias = additive(attn_bias, query.scalar_type());
  at::Tensor output, logsumexp, dropout_state;
  if (!needs_math && cpu_takes_flash(query, key, value, bias, dropout_p, is_causal, scale)) {
    std::tie(output, logsumexp) = at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p,
                                                                                  is_causal, if_defined(bias), scale);
  } else {
    const AttentionMath math(query, key, value, bias, dropout_p, is_causal, scale, /*dropout_state=*/{});
    output = math.output();
    logsumexp = at::empty({0}, query.options().dtype(at::kFloat));
    dropout_state = math.dropout_state();
  }
  const auto nothing = [&] { return at::empty({0}, query.options().dtype(at::kLong)); };
  if (!dropout_state.defined()) dropout_state = nothing();
  return {std::move(output), std::move(logsumexp),     nothing(), nothing(), query.sym_size(2),
          key.sym_size(2),   std::move(dropout_state), nothing(), nothing()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_fused_attention_overrideable_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& attn_bias, std::array<bool, 4> grad_input_mask, const at::Tensor& out,
    const at::Tensor& logsumexp, const at::Tensor& /*cum_seq_q*/, const at::Tensor& /*cum_seq_k*/,
    c10::SymInt /*max_q*/, c10::SymInt /*max_k*/, double dropout_p, bool is_causal, const at::Tensor& philox_seed,
    const at::Tensor& /*philox_offset*/, std::optional<double> scale) {
  if (!grad_out.defined()) return {};
  const at::Tensor bias = additive(attn_bias, query.scalar_type());
  const bool used_flash = logsumexp.numel() > 0;
  if (used_flash && !grad_input_mask[3]) {
    auto [grad_query, grad_key, grad_value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, if_defined(bias), scale);
    if (!grad_input_mask[0]) grad_query.reset();
    if (!grad_input_mask[1]) grad_key.reset();
    if (!grad_input_mask[2]) grad_value.reset();
    return {std::move(grad_query), std::move(grad_key), std::move(grad_value), at::Tensor()};
  }
  const at::Tensor dropout_state = philox_seed.numel() > 0 ? philox_seed : at::Tensor();
  const AttentionMath math(query, key, value, bias, dropout_p, is_causal, scale, dropout_state);
  return math.gradients(grad_out, grad_input_mask);
}

}  // namespace neuron::ops::kernels
