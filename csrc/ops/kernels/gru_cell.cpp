#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid_cpu_dispatch.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh_backward_cpu_dispatch.h>
#include <ATen/ops/tanh_cpu_dispatch.h>

#include "ops/kernels/cell_loops.h"
#include "ops/kernels/rnn_cells.h"

namespace neuron::ops::kernels {
namespace {

constexpr int64_t kGates = 3;
constexpr int64_t kSaved = 5;
enum Saved : int64_t { kReset, kUpdate, kNew, kState, kHiddenNew };

// Fills the workspace, but for the new gate: reset and update before their activation, the state, hidden_new.
template <typename T>
void sum_gates(at::Tensor& workspace, const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& state,
               const CellBiases& biases) {
  const Rows<T> saved_rows(workspace);
  const Rows<const T> input_rows(input), hidden_rows(hidden), state_rows(state);
  const int64_t units = state_rows.width;
  const bool has_bias = biases.input.defined();
  const T* input_bias = has_bias ? biases.input.const_data_ptr<T>() : nullptr;
  const T* hidden_bias = has_bias ? biases.hidden.const_data_ptr<T>() : nullptr;
  for_each_row(state.size(0), saved_rows.width, [&](int64_t row) {
    T* saved = saved_rows[row];
    const T* from_input = input_rows[row];
    const T* from_hidden = hidden_rows[row];
    const T* previous = state_rows[row];
    for_each_unit(units, [=](int64_t i) { saved[kState * units + i] = previous[i]; });
    if (has_bias) {
      for_each_unit(kNew * units,
                    [=](int64_t i) { saved[i] = gate_sum(from_input, from_hidden, input_bias, hidden_bias, i); });
      for_each_unit(units, [=](int64_t i) {
        saved[kHiddenNew * units + i] = from_hidden[kNew * units + i] + hidden_bias[kNew * units + i];
      });
    } else {
      for_each_unit(kNew * units, [=](int64_t i) { saved[i] = from_hidden[i] + from_input[i]; });
      for_each_unit(units, [=](int64_t i) { saved[kHiddenNew * units + i] = from_hidden[kNew * units + i]; });
    }
  });
}

// The new gate before its activation.
template <typename T>
void sum_new_gate(at::Tensor& workspace, const at::Tensor& input, const CellBiases& biases) {
  const Rows<T> saved_rows(workspace);
  const Rows<const T> input_rows(input);
  const int64_t units = saved_rows.width / kSaved;
  const T* bias = biases.input.defined() ? biases.input.const_data_ptr<T>() + kNew * units : nullptr;
  for_each_row(workspace.size(0), units, [&](int64_t row) {
    T* candidate = saved_rows[row] + kNew * units;
    const T* reset = saved_rows[row] + kReset * units;
    const T* hidden_new = saved_rows[row] + kHiddenNew * units;
    const T* from_input = input_rows[row] + kNew * units;
    if (bias != nullptr) {
      for_each_unit(units, [=](int64_t i) { candidate[i] = (from_input[i] + bias[i]) + hidden_new[i] * reset[i]; });
    } else {
      for_each_unit(units, [=](int64_t i) { candidate[i] = from_input[i] + hidden_new[i] * reset[i]; });
    }
  });
}

template <typename T>
void next_state(at::Tensor& hy, const at::Tensor& workspace) {
  const Rows<T> out_rows(hy);
  const Rows<const T> saved_rows(workspace);
  const int64_t units = out_rows.width;
  for_each_row(hy.size(0), units, [&](int64_t row) {
    T* out = out_rows[row];
    const T* update = saved_rows[row] + kUpdate * units;
    const T* candidate = saved_rows[row] + kNew * units;
    const T* state = saved_rows[row] + kState * units;
    for_each_unit(units, [=](int64_t i) { out[i] = (state[i] - candidate[i]) * update[i] + candidate[i]; });
  });
}

// The gradients of hx, of the update gate, and of the activated new gate.
template <typename T>
void state_gradient(at::Tensor& grad_input, at::Tensor& grad_hx, const at::Tensor& grad_hy,
                    const at::Tensor& workspace) {
  const Rows<T> grad_gate_rows(grad_input), grad_state_rows(grad_hx);
  const Rows<const T> grad_rows(grad_hy), saved_rows(workspace);
  const int64_t units = grad_rows.width;
  for_each_row(grad_hy.size(0), units, [&](int64_t row) {
    T* grad_gate = grad_gate_rows[row];
    T* grad_state = grad_state_rows[row];
    const T* saved = saved_rows[row];
    const T* grad = grad_rows[row];
    for_each_unit(units, [=](int64_t i) {
      const T update = saved[kUpdate * units + i];
      const T difference = saved[kState * units + i] - saved[kNew * units + i];
      const T grad_difference = grad[i] * update;
      grad_gate[kUpdate * units + i] = sigmoid_gradient<T>(grad[i] * difference, update);
      grad_gate[kNew * units + i] = grad[i] - grad_difference;
      grad_state[i] = grad_difference;
    });
  });
}

// From the gradient of the new gate to that of the reset gate, and from the input's gates to the hidden ones.
template <typename T>
void reset_gradient(at::Tensor& grad_input, at::Tensor& grad_hidden, const at::Tensor& workspace) {
  const Rows<T> grad_input_rows(grad_input), grad_hidden_rows(grad_hidden);
  const Rows<const T> saved_rows(workspace);
  const int64_t units = saved_rows.width / kSaved;
  for_each_row(workspace.size(0), units, [&](int64_t row) {
    T* from_input = grad_input_rows[row];
    T* from_hidden = grad_hidden_rows[row];
    const T* saved = saved_rows[row];
    for_each_unit(units, [=](int64_t i) {
      const T grad_new = from_input[kNew * units + i];
      const T reset = saved[kReset * units + i];
      const T grad_reset = sigmoid_gradient<T>(grad_new * saved[kHiddenNew * units + i], reset);
      from_input[kReset * units + i] = grad_reset;
      from_hidden[kReset * units + i] = grad_reset;
      from_hidden[kUpdate * units + i] = from_input[kUpdate * units + i];
      from_hidden[kNew * units + i] = grad_new * reset;
    });
  });
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> thnn_fused_gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                       const at::Tensor& hx,
                                                       const std::optional<at::Tensor>& input_bias,
                                                       const std::optional<at::Tensor>& hidden_bias) {
  const char* op = "_thnn_fused_gru_cell";
  const CellBiases biases = check_cell(op, input_gates, hidden_gates, hx, kGates, input_bias, hidden_bias);
  const at::Tensor input = input_gates.contiguous(), hidden = hidden_gates.contiguous(), state = hx.contiguous();
  const int64_t units = hx.size(1);
  at::Tensor workspace = at::empty({hx.size(0), kSaved * units}, hx.options());
  at::Tensor hy = at::empty_like(state);
  for_cell_type(op, hx.scalar_type(), [&]<typename T>() { sum_gates<T>(workspace, input, hidden, state, biases); });
  for (const Saved sigmoid_gate : {kReset, kUpdate}) {
    at::Tensor one = gate(workspace, sigmoid_gate, units);
    at::cpu::sigmoid_(one);
  }
  for_cell_type(op, hx.scalar_type(), [&]<typename T>() { sum_new_gate<T>(workspace, input, biases); });
  at::Tensor candidate = gate(workspace, kNew, units);
  at::cpu::tanh_(candidate);
  for_cell_type(op, hx.scalar_type(), [&]<typename T>() { next_state<T>(hy, workspace); });
  return {std::move(hy), std::move(workspace)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> thnn_fused_gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
  const char* op = "_thnn_fused_gru_cell_backward";
  TORCH_CHECK(grad_hy.dim() == 2 && workspace.dim() == 2 && workspace.size(0) == grad_hy.size(0) &&
                  workspace.size(1) == kSaved * grad_hy.size(1) && workspace.scalar_type() == grad_hy.scalar_type(),
              op, ": expected grad_hy of size [N, H] and a workspace of size [N, 5H] of one dtype, but got grad_hy ",
              grad_hy.sizes(), " ", grad_hy.scalar_type(), ", workspace ", workspace.sizes(), " ",
              workspace.scalar_type());
  const at::Tensor grad = grad_hy.contiguous(), saved = workspace.contiguous();
  const int64_t rows = grad.size(0), units = grad.size(1);
  at::Tensor grad_input = at::empty({rows, kGates * units}, grad.options());
  at::Tensor grad_hidden = at::empty({rows, kGates * units}, grad.options());
  at::Tensor grad_hx = at::empty_like(grad);
  for_cell_type(op, grad.scalar_type(), [&]<typename T>() { state_gradient<T>(grad_input, grad_hx, grad, saved); });
  at::Tensor grad_new = gate(grad_input, kNew, units);
  at::cpu::tanh_backward_out(grad_new, grad_new, gate(saved, kNew, units));
  for_cell_type(op, grad.scalar_type(), [&]<typename T>() { reset_gradient<T>(grad_input, grad_hidden, saved); });
  at::Tensor grad_input_bias, grad_hidden_bias;
  if (has_bias) {
    grad_input_bias = at::sum(grad_input, {0});
    grad_hidden_bias = at::sum(grad_hidden, {0});
  }
  return {std::move(grad_input), std::move(grad_hidden), std::move(grad_hx), std::move(grad_input_bias),
          std::move(grad_hidden_bias)};
}

}  // namespace neuron::ops::kernels
