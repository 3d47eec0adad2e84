#include <algorithm>
#include <cmath>

#include "device/cost/classes.h"
#include "device/cost/contraction.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

constexpr Operand kAbsent;

const Operand& input(const Work& work, size_t i) { return i < work.inputs.size() ? work.inputs[i] : kAbsent; }
const Operand& output(const Work& work, size_t i) { return i < work.outputs.size() ? work.outputs[i] : kAbsent; }

double size_from_end(const Operand& operand, size_t i) {
  return i < operand.sizes.size() ? static_cast<double>(operand.sizes[operand.sizes.size() - 1 - i]) : 1;
}

double leading(const Operand& operand, size_t trailing) {
  double product = 1;
  for (size_t i = 0; i + trailing < operand.sizes.size(); ++i) product *= static_cast<double>(operand.sizes[i]);
  return product;
}

// The two factors, of which the larger is read again for each part of the smaller that fits on chip; of each matrix of
// a batch apart. Their layout is taken as it is: a product can take either order of its operands' dimensions.
void move_factors(const Operand& a, const Operand& b, double batch, Estimate& estimate, const Chip& chip) {
  const double a_bytes = stored_bytes(a) / batch, b_bytes = stored_bytes(b) / batch;
  const double a_reads = reads_of_larger(b_bytes, chip), b_reads = reads_of_larger(a_bytes, chip);
  Traffic traffic(estimate, chip);
  const bool stream_a = a_bytes * a_reads + b_bytes <= a_bytes + b_bytes * b_reads;
  traffic.move_dense(a, stream_a ? a_reads : 1);
  traffic.move_dense(b, stream_a ? 1 : b_reads);
}

// What is added, and the results.
void move_rest(const Work& work, size_t first, Estimate& estimate, const Chip& chip) {
  Traffic traffic(estimate, chip);
  const Operand& order = output(work, 0);
  if (work.inputs.size() > first) traffic.move_all(work.inputs.subspan(first), order);
  traffic.move_all(work.outputs, order);
}

}  // namespace

Estimate matmul(const Work& work, const Chip& chip) {
  const Operand &a = input(work, 0), &b = input(work, 1);
  Contraction product;
  product.k = size_from_end(a, 0);
  product.n = b.sizes.size() > 1 ? size_from_end(b, 0) : 1;
  if (a.sizes.size() <= 1) {
    product.batch = leading(b, 2);
  } else if (b.sizes.size() <= 2) {
    product.m = leading(a, 1);
  } else if (a.sizes.size() == 2) {  // one matrix, cut into a group of rows for each matrix of b
    product.batch = leading(b, 2);
    product.m = std::ceil(leading(a, 1) / std::max(product.batch, 1.0));
  } else {
    product.batch = std::max(leading(a, 2), leading(b, 2));
    product.m = size_from_end(a, 1);
  }
  Estimate result;
  move_factors(a, b, std::max(product.batch, 1.0), result, chip);
  move_rest(work, 2, result, chip);
  contract(product, a.number, result, chip);
  return result;
}

Estimate linear(const Work& work, const Chip& chip) {
  const Operand &x = input(work, 0), &weight = input(work, 1);
  Contraction product{.m = leading(x, 1), .k = size_from_end(x, 0), .n = leading(weight, 1)};
  Estimate result;
  move_factors(x, weight, 1, result, chip);
  move_rest(work, 2, result, chip);
  contract(product, x.number, result, chip);
  return result;
}

Estimate linear_backward(const Work& work, const Chip& chip) {
  const Operand &grad = input(work, 0), &x = input(work, 1), &weight = input(work, 2);
  const double rows = leading(grad, 1), out = size_from_end(grad, 0);
  Estimate result;
  if (output(work, 0).defined()) {
    move_factors(grad, weight, 1, result, chip);
    contract({.m = rows, .k = out, .n = size_from_end(weight, 0)}, grad.number, result, chip);
  }
  if (output(work, 1).defined()) {
    move_factors(grad, x, 1, result, chip);
    contract({.m = out, .k = rows, .n = size_from_end(x, 0)}, grad.number, result, chip);
  }
  move_rest(work, 3, result, chip);
  return result;
}

}  // namespace neuron::device::cost
