#include "ops/kernels/cell_loops.h"

namespace neuron::ops::kernels {
namespace {

at::Tensor check_bias(const char* op, const char* name, const at::Tensor& bias, const at::Tensor& input_gates) {
  TORCH_CHECK(bias.dim() == 1 && bias.numel() == input_gates.size(1), op, ": ", name, " must have size [",
              input_gates.size(1), "], one value for each column of input_gates, but has size ", bias.sizes());
  TORCH_CHECK(bias.scalar_type() == input_gates.scalar_type(), op, ": ", name, " must have the dtype of input_gates, ",
              input_gates.scalar_type(), ", but has ", bias.scalar_type());
  return bias.contiguous();
}

}  // namespace

CellBiases check_cell(const char* op, const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                      const at::Tensor& state, int64_t gates, const std::optional<at::Tensor>& input_bias,
                      const std::optional<at::Tensor>& hidden_bias) {
  TORCH_CHECK(input_gates.dim() == 2 && input_gates.size(1) % gates == 0, op, ": input_gates must be 2-D with ", gates,
              " columns for each hidden unit, but has size ", input_gates.sizes());
  TORCH_CHECK(hidden_gates.sizes() == input_gates.sizes(), op, ": hidden_gates must have the size of input_gates, ",
              input_gates.sizes(), ", but has size ", hidden_gates.sizes());
  TORCH_CHECK(state.dim() == 2 && state.size(0) == input_gates.size(0) && state.size(1) * gates == input_gates.size(1),
              op, ": the previous state must have size [", input_gates.size(0), ", ", input_gates.size(1) / gates,
              "] to match input_gates, but has size ", state.sizes());
  for (const at::Tensor& other : {hidden_gates, state}) {
    TORCH_CHECK(other.scalar_type() == input_gates.scalar_type(), op,
                ": hidden_gates and the previous state must have the dtype of input_gates, ", input_gates.scalar_type(),
                ", but one has ", other.scalar_type());
  }
  const bool has_input_bias = input_bias.has_value() && input_bias->defined();
  const bool has_hidden_bias = hidden_bias.has_value() && hidden_bias->defined();
  TORCH_CHECK(has_input_bias == has_hidden_bias, op, ": only ", has_input_bias ? "input_bias" : "hidden_bias",
              " was given; pass both biases or none");
  if (!has_input_bias) return {};
  return {check_bias(op, "input_bias", *input_bias, input_gates),
          check_bias(op, "hidden_bias", *hidden_bias, input_gates)};
}

}  // namespace neuron::ops::kernels
