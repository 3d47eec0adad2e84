#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid_cpu_dispatch.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh_backward_cpu_dispatch.h>
#include <ATen/ops/tanh_cpu_dispatch.h>

#include "ops/kernels/cell_loops.h"
#include "ops/kernels/rnn_cells.h"

namespace neuron::ops::kernels {
namespace {

constexpr int64_t kGates = 4;
enum Gate : int64_t { kInput, kForget, kCell, kOutput };

template <typename T>
void sum_gates(at::Tensor& gates, const at::Tensor& input, const at::Tensor& hidden, const CellBiases& biases) {
  const Rows<T> out_rows(gates);
  const Rows<const T> input_rows(input), hidden_rows(hidden);
  const int64_t width = out_rows.width;
  const bool has_bias = biases.input.defined();
  const T* input_bias = has_bias ? biases.input.const_data_ptr<T>() : nullptr;
  const T* hidden_bias = has_bias ? biases.hidden.const_data_ptr<T>() : nullptr;
  for_each_row(gates.size(0), width, [&](int64_t row) {
    T* out = out_rows[row];
    const T* from_input = input_rows[row];
    const T* from_hidden = hidden_rows[row];
    if (has_bias) {
      for_each_unit(width, [=](int64_t i) { out[i] = gate_sum(from_input, from_hidden, input_bias, hidden_bias, i); });
    } else {
      for_each_unit(width, [=](int64_t i) { out[i] = from_hidden[i] + from_input[i]; });
    }
  });
}

template <typename T>
void next_cell_state(at::Tensor& cy, const at::Tensor& gates, const at::Tensor& cx) {
  const Rows<T> out_rows(cy);
  const Rows<const T> gate_rows(gates), previous_rows(cx);
  const int64_t units = out_rows.width;
  for_each_row(cy.size(0), units, [&](int64_t row) {
    T* out = out_rows[row];
    const T* input = gate_rows[row] + kInput * units;
    const T* forget = gate_rows[row] + kForget * units;
    const T* cell = gate_rows[row] + kCell * units;
    const T* previous = previous_rows[row];
    for_each_unit(units, [=](int64_t i) { out[i] = forget[i] * previous[i] + input[i] * cell[i]; });
  });
}

// hy holds tanh(cy) on entry.
template <typename T>
void multiply_by_output_gate(at::Tensor& hy, const at::Tensor& gates) {
  const Rows<T> out_rows(hy);
  const Rows<const T> gate_rows(gates);
  const int64_t units = out_rows.width;
  for_each_row(hy.size(0), units, [&](int64_t row) {
    T* out = out_rows[row];
    const T* output = gate_rows[row] + kOutput * units;
    for_each_unit(units, [=](int64_t i) { out[i] = output[i] * out[i]; });
  });
}

// The gradients of tanh(cy), and of the output gate before its activation.
template <typename T>
void output_gate_gradient(at::Tensor& grad_gates, at::Tensor& grad_tanh_cy, const at::Tensor& grad_hy,
                          const at::Tensor& tanh_cy, const at::Tensor& gates) {
  const Rows<T> grad_gate_rows(grad_gates), out_rows(grad_tanh_cy);
  const Rows<const T> grad_rows(grad_hy), cell_rows(tanh_cy), gate_rows(gates);
  const int64_t units = out_rows.width;
  for_each_row(grad_hy.size(0), units, [&](int64_t row) {
    T* grad_output = grad_gate_rows[row] + kOutput * units;
    T* out = out_rows[row];
    const T* output = gate_rows[row] + kOutput * units;
    const T* grad = grad_rows[row];
    const T* cell = cell_rows[row];
    for_each_unit(units, [=](int64_t i) {
      grad_output[i] = sigmoid_gradient<T>(grad[i] * cell[i], output[i]);
      out[i] = grad[i] * output[i];
    });
  });
}

// From the gradient of cy to those of cx, of the input and forget gates, and of the activated cell gate.
template <typename T>
void cell_state_gradient(at::Tensor& grad_gates, at::Tensor& grad_cx, const at::Tensor& grad_cy, const at::Tensor& cx,
                         const at::Tensor& gates) {
  const Rows<T> grad_gate_rows(grad_gates), grad_previous_rows(grad_cx);
  const Rows<const T> grad_rows(grad_cy), previous_rows(cx), gate_rows(gates);
  const int64_t units = grad_rows.width;
  for_each_row(cx.size(0), units, [&](int64_t row) {
    T* grad_gate = grad_gate_rows[row];
    T* grad_previous = grad_previous_rows[row];
    const T* gate = gate_rows[row];
    const T* grad = grad_rows[row];
    const T* previous = previous_rows[row];
    for_each_unit(units, [=](int64_t i) {
      const T input = gate[kInput * units + i];
      const T forget = gate[kForget * units + i];
      grad_gate[kInput * units + i] = sigmoid_gradient<T>(grad[i] * gate[kCell * units + i], input);
      grad_gate[kForget * units + i] = sigmoid_gradient<T>(grad[i] * previous[i], forget);
      grad_gate[kCell * units + i] = grad[i] * input;
      grad_previous[i] = grad[i] * forget;
    });
  });
}

at::Tensor contiguous_if_any(const std::optional<at::Tensor>& grad) {
  return grad.has_value() && grad->defined() ? grad->contiguous() : at::Tensor();
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> thnn_fused_lstm_cell(const at::Tensor& input_gates,
                                                                    const at::Tensor& hidden_gates,
                                                                    const at::Tensor& cx,
                                                                    const std::optional<at::Tensor>& input_bias,
                                                                    const std::optional<at::Tensor>& hidden_bias) {
  const char* op = "_thnn_fused_lstm_cell";
  const CellBiases biases = check_cell(op, input_gates, hidden_gates, cx, kGates, input_bias, hidden_bias);
  const at::Tensor input = input_gates.contiguous(), hidden = hidden_gates.contiguous(), previous = cx.contiguous();
  const int64_t units = cx.size(1);
  at::Tensor gates = at::empty_like(input);
  at::Tensor cy = at::empty_like(previous);
  at::Tensor hy = at::empty_like(previous);
  for_cell_type(op, gates.scalar_type(), [&]<typename T>() { sum_gates<T>(gates, input, hidden, biases); });
  for (const Gate sigmoid_gate : {kInput, kForget, kOutput}) {
    at::Tensor one = gate(gates, sigmoid_gate, units);
    at::cpu::sigmoid_(one);
  }
  at::Tensor cell = gate(gates, kCell, units);
  at::cpu::tanh_(cell);
  for_cell_type(op, gates.scalar_type(), [&]<typename T>() { next_cell_state<T>(cy, gates, previous); });
  at::cpu::tanh_out(hy, cy);
  for_cell_type(op, gates.scalar_type(), [&]<typename T>() { multiply_by_output_gate<T>(hy, gates); });
  return {std::move(hy), std::move(cy), std::move(gates)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> thnn_fused_lstm_cell_backward_impl(
    const std::optional<at::Tensor>& grad_hy, const std::optional<at::Tensor>& grad_cy, const at::Tensor& cx,
    const at::Tensor& cy, const at::Tensor& workspace, bool has_bias) {
  const at::Tensor from_hy = contiguous_if_any(grad_hy), from_cy = contiguous_if_any(grad_cy);
  if (!from_hy.defined() && !from_cy.defined()) return {};
  const char* op = "_thnn_fused_lstm_cell_backward";
  TORCH_CHECK(workspace.dim() == 2 && cx.dim() == 2 && workspace.size(0) == cx.size(0) &&
                  workspace.size(1) == kGates * cx.size(1) && cy.sizes() == cx.sizes(),
              op, ": expected cx and cy of one size [N, H] and a workspace of size [N, 4H], but got cx ", cx.sizes(),
              ", cy ", cy.sizes(), ", workspace ", workspace.sizes());
  for (const at::Tensor& grad : {from_hy, from_cy}) {
    TORCH_CHECK(!grad.defined() || (grad.sizes() == cx.sizes() && grad.scalar_type() == cx.scalar_type()), op,
                ": a gradient must have the size and dtype of cx, ", cx.sizes(), " ", cx.scalar_type(), ", but has ",
                grad.sizes(), " ", grad.scalar_type());
  }
  const at::Tensor previous = cx.contiguous(), gates = workspace.contiguous();
  const int64_t units = cx.size(1);
  at::Tensor grad_gates = at::empty_like(gates);
  at::Tensor grad_cx = at::empty_like(previous);
  at::Tensor grad_cell = from_cy;
  if (from_hy.defined()) {
    const at::Tensor tanh_cy = at::cpu::tanh(cy.contiguous());
    grad_cell = at::empty_like(previous);
    for_cell_type(op, gates.scalar_type(),
                  [&]<typename T>() { output_gate_gradient<T>(grad_gates, grad_cell, from_hy, tanh_cy, gates); });
    at::cpu::tanh_backward_out(grad_cell, grad_cell, tanh_cy);
    if (from_cy.defined()) grad_cell.add_(from_cy);
  } else {
    gate(grad_gates, kOutput, units).zero_();
  }
  for_cell_type(op, gates.scalar_type(),
                [&]<typename T>() { cell_state_gradient<T>(grad_gates, grad_cx, grad_cell, previous, gates); });
  at::Tensor grad_cell_gate = gate(grad_gates, kCell, units);
  at::cpu::tanh_backward_out(grad_cell_gate, grad_cell_gate, gate(gates, kCell, units));
  at::Tensor grad_bias = has_bias ? at::sum(grad_gates, {0}) : at::Tensor();
  return {std::move(grad_gates), std::move(grad_cx), std::move(grad_bias)};
}

}  // namespace neuron::ops::kernels
