#include "ops/kernels/attention_math.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>
#include <mutex>

namespace neuron::ops::kernels {
namespace {

constexpr int64_t kHeads = 1;

at::Tensor in_compute_type(const at::Tensor& tensor) {
  return at::isReducedFloatingType(tensor.scalar_type()) && !at::globalContext().allowFP16BF16ReductionMathSDP()
             ? tensor.to(at::kFloat)
             : tensor;
}

at::Tensor repeat_heads(const at::Tensor& tensor, int64_t heads) {
  return tensor.size(kHeads) == heads ? tensor : tensor.repeat_interleave(heads / tensor.size(kHeads), kHeads);
}

// The gradient of repeat_heads.
at::Tensor sum_heads(const at::Tensor& grad, int64_t heads) {
  if (grad.size(kHeads) == heads) return grad;
  return grad.unflatten(kHeads, {heads, grad.size(kHeads) / heads}).sum(kHeads + 1);
}

// Zero up to the diagonal, -inf above.
at::Tensor causal_bias(const at::Tensor& query, int64_t keys) {
  const int64_t queries = query.size(-2);
  const at::Tensor seen = at::ones({queries, keys}, query.options().dtype(at::kBool)).tril();
  return at::zeros({queries, keys}, query.options())
      .masked_fill_(seen.logical_not(), -std::numeric_limits<double>::infinity());
}

at::Generator generator_at(const at::Tensor& state) {
  at::Generator made = at::detail::createCPUGenerator();
  made.set_state(state);
  return made;
}

}  // namespace

AttentionMath::AttentionMath(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const at::Tensor& attn_bias, double dropout_p, bool is_causal, std::optional<double> scale,
                             const at::Tensor& dropout_state)
    : key_(key),
      value_(value),
      attn_bias_(attn_bias),
      type_(query.scalar_type()),
      key_factor_(
          std::sqrt(scale.has_value() ? std::abs(*scale) : 1.0 / std::sqrt(static_cast<double>(query.size(-1))))),
      dropout_state_(dropout_state) {
  TORCH_CHECK(!is_causal || !attn_bias.defined(),
              "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  query_factor_ = scale.has_value() && *scale < 0 ? -key_factor_ : key_factor_;
  const int64_t heads = query.size(kHeads);
  query_scaled_ = at::mul(in_compute_type(query), query_factor_);
  key_scaled_ = at::mul(repeat_heads(in_compute_type(key), heads).transpose(-2, -1), key_factor_);
  value_repeated_ = repeat_heads(in_compute_type(value), heads);

  at::Tensor scores = at::matmul(query_scaled_, key_scaled_);
  if (is_causal) scores.add_(causal_bias(query_scaled_, key.size(-2)));
  if (attn_bias.defined()) scores.add_(attn_bias);
  probabilities_ = at::_safe_softmax(scores, -1);
  drop(dropout_p);
}

// torch.dropout, but with a mask that can be drawn again.
void AttentionMath::drop(double p) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  weights_ = probabilities_;
  if (p == 0 || probabilities_.numel() == 0) return;
  if (p == 1) {
    noise_ = at::zeros({}, probabilities_.options());
  } else {
    noise_ = at::empty_like(probabilities_);
    if (dropout_state_.defined()) {
      noise_.bernoulli_(1 - p, generator_at(dropout_state_));
    } else {
      // State and mask must belong together, whatever other threads draw meanwhile.
      at::Generator shared = at::detail::getDefaultCPUGenerator();
      const std::lock_guard<std::mutex> lock(shared.mutex());
      dropout_state_ = shared.get_state();
      const at::Generator own = generator_at(dropout_state_);
      noise_.bernoulli_(1 - p, own);
      shared.set_state(own.get_state());
    }
    noise_.div_(1 - p);
  }
  weights_ = at::mul(probabilities_, noise_);
}

at::Tensor AttentionMath::output() const { return at::matmul(weights_, value_repeated_).to(type_); }

// The steps of CPU autograd, in its order.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> AttentionMath::gradients(const at::Tensor& grad_output,
                                                                                    std::array<bool, 4> wanted) const {
  const auto [want_query, want_key, want_value, want_bias] = wanted;
  at::Tensor grad_query, grad_key, grad_value, grad_bias;
  const at::Tensor grad = grad_output.to(weights_.scalar_type());
  if (want_value) {
    const at::Tensor repeated = at::sum_to(at::matmul(weights_.transpose(-2, -1), grad), value_repeated_.sizes());
    grad_value = sum_heads(repeated, value_.size(kHeads)).to(type_);
  }
  if (!want_query && !want_key && !want_bias) return {{}, {}, std::move(grad_value), {}};

  at::Tensor grad_weights = at::matmul(grad, value_repeated_.transpose(-2, -1));
  grad_weights = at::sum_to(std::move(grad_weights), weights_.sizes());
  if (noise_.defined()) grad_weights = at::mul(grad_weights, noise_);
  const at::Tensor grad_scores =
      at::_softmax_backward_data(grad_weights, probabilities_, -1, probabilities_.scalar_type());
  if (want_bias) {
    TORCH_CHECK(
        attn_bias_.defined(),
        "_scaled_dot_product_fused_attention_overrideable_backward: the gradient of attn_bias was asked for, but "
        "attn_bias was not given");
    grad_bias = at::sum_to(grad_scores, attn_bias_.sizes()).to(attn_bias_.scalar_type());
  }
  if (want_key) {
    const at::Tensor transposed =
        at::sum_to(at::matmul(query_scaled_.transpose(-2, -1), grad_scores), key_scaled_.sizes());
    grad_key = sum_heads(at::mul(transposed, key_factor_).transpose(-2, -1), key_.size(kHeads)).to(type_);
  }
  if (want_query) {
    const at::Tensor scaled = at::sum_to(at::matmul(grad_scores, key_scaled_.transpose(-2, -1)), query_scaled_.sizes());
    grad_query = at::mul(scaled, query_factor_).to(type_);
  }
  return {std::move(grad_query), std::move(grad_key), std::move(grad_value), std::move(grad_bias)};
}

}  // namespace neuron::ops::kernels
