// Scaled dot product attention as one op, over CPU tensors.
//
// B batches, Hq query heads, Hk key and value heads (Hq a multiple of Hk), L queries, S keys, E head size, Ev value
// size. The values are those of torch.nn.functional.scaled_dot_product_attention on CPU, bit for bit: where it takes
// its flash kernel, so does this; elsewhere it is the same steps of matrix products and softmax.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <array>
#include <optional>
#include <tuple>

namespace neuron::ops::kernels {

// at::SDPBackend::overrideable when the op below takes these arguments, else at::SDPBackend::math (which also raises
// PyTorch's own errors for arguments that nothing takes). Reads sizes, dtypes and requires_grad only.
// (TorchNeuron snapshot, torch_neuronx/csrc/aten/SdpBackendSelection.cpp)
int64_t sdp_choice(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const std::optional<at::Tensor>& attn_mask, double dropout_p, bool is_causal,
                   std::optional<double> scale, bool enable_gqa);

// query: B x Hq x L x E; key: B x Hk x S x E; value: B x Hk x S x Ev; attn_bias: broadcasts to B x Hq x L x S, added to
// the scores. Returns output (B x Hq x L x Ev), logsumexp (empty unless the flash kernel ran), cum_seq_q and cum_seq_k
// (empty), max_q = L, max_k = S, philox_seed (with dropout, the state that drew its mask, else empty), philox_offset
// (empty), debug_attn_mask (empty; asking for it raises).
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
scaled_dot_product_fused_attention_overrideable(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                                const std::optional<at::Tensor>& attn_bias, double dropout_p,
                                                bool is_causal, bool return_debug_mask, std::optional<double> scale);

// Returns the gradients of query, key, value and attn_bias that grad_input_mask asks for, the others undefined.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_fused_attention_overrideable_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& attn_bias, std::array<bool, 4> grad_input_mask, const at::Tensor& out,
    const at::Tensor& logsumexp, const at::Tensor& cum_seq_q, const at::Tensor& cum_seq_k, c10::SymInt max_q,
    c10::SymInt max_k, double dropout_p, bool is_causal, const at::Tensor& philox_seed, const at::Tensor& philox_offset,
    std::optional<double> scale);

}  // namespace neuron::ops::kernels
