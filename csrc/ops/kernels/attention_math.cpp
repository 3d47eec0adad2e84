#include "ops/kernels/attention_math.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
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

// The matrices that at::matmul hands to bmm: copied where the layout has no such view. Autograd keeps and transposes
// these, not the tensors they come from, and the layout decides how a product is summed.
at::Tensor matrices(const at::Tensor& tensor, at::IntArrayRef batch) {
  at::DimVector sizes(batch);
  sizes.append({tensor.size(-2), tensor.size(-1)});
  return tensor.expand(sizes).reshape({batch[0] * batch[1], tensor.size(-2), tensor.size(-1)});
}

at::Tensor product(const at::Tensor& one, const at::Tensor& other, at::IntArrayRef batch) {
  return at::bmm(one, other).view({batch[0], batch[1], one.size(-2), other.size(-1)});
}

at::DimVector common_batch(const at::Tensor& one, const at::Tensor& other) {
  return at::infer_size_dimvector(one.sizes().slice(0, 2), other.sizes().slice(0, 2));
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
  made.set_state(state.clone());  // PyTorch reads a state from the start of its storage, whatever the offset
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

  const at::DimVector batch = common_batch(query_scaled_, key_scaled_);
  query_matrices_ = matrices(query_scaled_, batch);
  key_matrices_ = matrices(key_scaled_, batch);
  at::Tensor scores = product(query_matrices_, key_matrices_, batch);
  if (is_causal) scores.add_(causal_bias(query_scaled_, key.size(-2)));
  if (attn_bias.defined()) scores.add_(attn_bias);
  probabilities_ = at::_safe_softmax(scores, -1);
  drop(dropout_p);
  const at::DimVector weighted_batch = common_batch(weights_, value_repeated_);
  weights_matrices_ = matrices(weights_, weighted_batch);
  value_matrices_ = matrices(value_repeated_, weighted_batch);
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

at::Tensor AttentionMath::output() const {
  return product(weights_matrices_, value_matrices_, common_batch(weights_, value_repeated_)).to(type_);
}

// The steps of CPU autograd, in its order.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> AttentionMath::gradients(const at::Tensor& grad_output,
                                                                                    std::array<bool, 4> wanted) const {
  const auto [want_query, want_key, want_value, want_bias] = wanted;
  at::Tensor grad_query, grad_key, grad_value, grad_bias;
  const at::DimVector batch = common_batch(weights_, value_repeated_);
  const at::Tensor grad = matrices(grad_output.to(weights_.scalar_type()), batch);
  if (want_value) {
    const at::Tensor expanded = product(weights_matrices_.transpose(1, 2), grad, batch);
    grad_value = sum_heads(at::sum_to(expanded, value_repeated_.sizes()), value_.size(kHeads)).to(type_);
  }
  if (!want_query && !want_key && !want_bias) return {{}, {}, std::move(grad_value), {}};

  at::Tensor grad_weights = at::sum_to(product(grad, value_matrices_.transpose(1, 2), batch), weights_.sizes());
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
  const at::DimVector scores_batch = common_batch(query_scaled_, key_scaled_);
  const at::Tensor grad_matrices = matrices(grad_scores, scores_batch);
  if (want_key) {
    const at::Tensor expanded = product(query_matrices_.transpose(1, 2), grad_matrices, scores_batch);
    const at::Tensor transposed = at::mul(at::sum_to(expanded, key_scaled_.sizes()), key_factor_);
    grad_key = sum_heads(transposed.transpose(-2, -1), key_.size(kHeads)).to(type_);
  }
  if (want_query) {
    const at::Tensor expanded = product(grad_matrices, key_matrices_.transpose(1, 2), scores_batch);
    grad_query = at::mul(at::sum_to(expanded, query_scaled_.sizes()), query_factor_).to(type_);
  }
  return {std::move(grad_query), std::move(grad_key), std::move(grad_value), std::move(grad_bias)};
}

}  // namespace neuron::ops::kernels
