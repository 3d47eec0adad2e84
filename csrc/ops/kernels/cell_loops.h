// What the LSTM and GRU cells share: argument checks, views of one gate, and loops over rows.
//
// Sums and products run in loops over raw pointers; sigmoid, tanh and tanh's gradient, whose bits depend on the CPU
// that PyTorch finds, are PyTorch's own vectorised kernels, called in place on one gate.
#pragma once

#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>

#include <algorithm>
#include <optional>
#include <type_traits>

namespace neuron::ops::kernels {

// f.operator()<T>() for the C++ type T of `type`.
template <class F>
void for_cell_type(const char* op, at::ScalarType type, const F& f) {
  switch (type) {
    case at::kDouble:
      return f.template operator()<double>();
    case at::kFloat:
      return f.template operator()<float>();
    case at::kHalf:
      return f.template operator()<at::Half>();
    case at::kBFloat16:
      return f.template operator()<at::BFloat16>();
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": expected float64, float32, float16 or bfloat16 tensors, but got ",
                                  type);
  }
}

struct CellBiases {
  at::Tensor input;  // undefined when the cell has none
  at::Tensor hidden;
};

// Checks the forward's arguments, and returns the biases contiguous. `gates`: how many the cell has.
CellBiases check_cell(const char* op, const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                      const at::Tensor& state, int64_t gates, const std::optional<at::Tensor>& input_bias,
                      const std::optional<at::Tensor>& hidden_bias);

// The rows of a contiguous 2-D tensor.
template <typename T>
struct Rows {
  explicit Rows(at::Tensor& tensor) : data(tensor.mutable_data_ptr<T>()), width(tensor.size(1)) {}
  T* operator[](int64_t row) const { return data + row * width; }

  T* data;
  int64_t width;
};
template <typename T>
struct Rows<const T> {
  explicit Rows(const at::Tensor& tensor) : data(tensor.const_data_ptr<T>()), width(tensor.size(1)) {}
  const T* operator[](int64_t row) const { return data + row * width; }

  const T* data;
  int64_t width;
};

// Gate number `index` of a contiguous N x (k * hidden) tensor, as an N x hidden view.
inline at::Tensor gate(const at::Tensor& gates, int64_t index, int64_t hidden) {
  return at::cpu::as_strided(gates, {gates.size(0), hidden}, {gates.size(1), 1},
                             gates.storage_offset() + index * hidden);
}

// f(i) for i in [0, n), for an f that has no dependence from one i to another. The inner loop's constant length is what
// lets GCC vectorise it at -O2.
template <class F>
inline void for_each_unit(int64_t n, const F& f) {
  constexpr int64_t kBlock = 16;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
#pragma GCC ivdep
    for (int64_t k = 0; k < kBlock; ++k) f(i + k);
  }
  for (; i < n; ++i) f(i);
}

// As PyTorch's own elementwise kernels.
constexpr int64_t kGrainSize = 32768;

// f(row), on several threads when `width` units a row make it worth while.
template <class F>
inline void for_each_row(int64_t rows, int64_t width, const F& f) {
  if (rows * width < kGrainSize) {
    for (int64_t row = 0; row < rows; ++row) f(row);
    return;
  }
  at::parallel_for(0, rows, kGrainSize / std::max<int64_t>(width, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

// The sum of both parts of a gate; each bias joins its own part first, as in the CPU's addmm.
template <typename T>
inline T gate_sum(const T* input, const T* hidden, const T* input_bias, const T* hidden_bias, int64_t i) {
  return (hidden[i] + hidden_bias[i]) + (input[i] + input_bias[i]);
}

// The gradient through y = sigmoid(x). PyTorch's own rounds float16 at each step, bfloat16 at the end.
template <typename T>
inline T sigmoid_gradient(T grad, T y) {
  using Compute = std::conditional_t<std::is_same_v<T, at::Half>, T, at::opmath_type<T>>;
  const Compute value = y;
  return static_cast<T>(static_cast<Compute>(grad) * (Compute(1) - value) * value);
}

}  // namespace neuron::ops::kernels
