#include "device/cost/classes.h"
#include "device/cost/contraction.h"
#include "device/cost/engines.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

struct Shape {
  double batch, queries, keys, width, value_width;
  double scores() const { return batch * queries * keys; }
};

double dimension(const Operand& operand, size_t i) {
  return i < operand.sizes.size() ? static_cast<double>(operand.sizes[i]) : 1;
}

Shape shape_of(const Operand& query, const Operand& key, const Operand& value) {
  return {dimension(query, 0) * dimension(query, 1), dimension(query, 2), dimension(key, 2), dimension(query, 3),
          dimension(value, 3)};
}

// Attention reads its operands as they lie: heads are often a permuted view of a projection.
void move_everything_dense(const Work& work, Estimate& estimate, const Chip& chip) {
  Traffic traffic(estimate, chip);
  for (const Operand& input : work.inputs) traffic.move_dense(input);
  for (const Operand& output : work.outputs) traffic.move_dense(output);
}

}  // namespace

Estimate attention(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything_dense(work, result, chip);
  if (work.inputs.size() < 3) return result;
  const Shape shape = shape_of(work.inputs[0], work.inputs[1], work.inputs[2]);
  const Number number = work.inputs[0].number;
  contract({shape.batch, shape.queries, shape.width, shape.keys}, number, result, chip);
  run_passes({.tensor_scalar = 1, .reduce = 1, .exp = 1}, shape.scores(), work, result, chip);
  contract({shape.batch, shape.queries, shape.keys, shape.value_width}, number, result, chip);
  return result;
}

Estimate attention_backward(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything_dense(work, result, chip);
  if (work.inputs.size() < 4) return result;
  const Shape shape = shape_of(work.inputs[1], work.inputs[2], work.inputs[3]);
  const Number number = work.inputs[0].number;
  // Scores again; gradients of the values, of the probabilities, of the queries, of the keys.
  contract({shape.batch, shape.queries, shape.width, shape.keys}, number, result, chip);
  contract({shape.batch, shape.keys, shape.queries, shape.value_width}, number, result, chip);
  contract({shape.batch, shape.queries, shape.value_width, shape.keys}, number, result, chip);
  contract({shape.batch, shape.queries, shape.keys, shape.width}, number, result, chip);
  contract({shape.batch, shape.keys, shape.queries, shape.width}, number, result, chip);
  // Probabilities from the saved logarithm of their sum, then the gradient of softmax.
  run_passes({.tensor_tensor = 2, .reduce = 1, .exp = 1}, shape.scores(), work, result, chip);
  return result;
}

}  // namespace neuron::device::cost
