// Attention by matrix products and softmax, the way PyTorch computes it on CPU where its flash kernel does not apply:
// with dropout, with a bias that needs a gradient, with a value size of its own, in layouts that the flash kernel
// refuses.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>

namespace neuron::ops::kernels {

class AttentionMath {
 public:
  // Computes the attention weights. `dropout_state`: the state of the CPU generator that draws the dropout mask, from
  // an earlier pass; undefined: the default CPU generator draws it, and dropout_state() is where it began.
  AttentionMath(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& attn_bias,
                double dropout_p, bool is_causal, std::optional<double> scale, const at::Tensor& dropout_state);

  at::Tensor output() const;
  // The gradients of query, key, value and attn_bias that `wanted` asks for.
  std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> gradients(const at::Tensor& grad_output,
                                                                       std::array<bool, 4> wanted) const;
  // Undefined when nothing was drawn.
  const at::Tensor& dropout_state() const { return dropout_state_; }

 private:
  void drop(double p);

  const at::Tensor& key_;
  const at::Tensor& value_;
  const at::Tensor& attn_bias_;
  const at::ScalarType type_;  // of the arguments and results
  double query_factor_;
  double key_factor_;
  at::Tensor query_scaled_;    // B x Hq x L x E
  at::Tensor key_scaled_;      // B x Hq x E x S: transposed, heads repeated
  at::Tensor value_repeated_;  // B x Hq x S x Ev
  // The same, and the weights, as the matrices that are multiplied: BHq x rows x columns.
  at::Tensor query_matrices_;
  at::Tensor key_matrices_;
  at::Tensor value_matrices_;
  at::Tensor weights_matrices_;
  at::Tensor probabilities_;  // B x Hq x L x S, before dropout
  at::Tensor noise_;          // what dropout multiplies by; undefined without
  at::Tensor weights_;        // after dropout
  at::Tensor dropout_state_;
};

}  // namespace neuron::ops::kernels
