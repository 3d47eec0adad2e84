#include <algorithm>

#include "device/cost/classes.h"
#include "device/cost/contraction.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

// One product for each group: channels that come out, patches that go in, places.
struct Patches {
  double groups, out, in, places;
};

double dimension(const Operand& operand, size_t i) {
  return i < operand.sizes.size() ? static_cast<double>(operand.sizes[i]) : 1;
}

// `input` and `result` are (B, C, ..). A transposed convolution is the gradient of one from its result to its input.
Patches patches_of(const Operand& input, const Operand& weight, const Operand& result, bool transposed) {
  const Operand& narrow = transposed ? result : input;
  const Operand& wide = transposed ? input : result;
  const double in_channels = dimension(weight, 1);
  const double groups = std::max(1.0, in_channels > 0 ? dimension(narrow, 1) / in_channels : 1);
  return {.groups = groups,
          .out = dimension(weight, 0) / groups,
          .in = numel_from(weight, 1),
          .places = dimension(wide, 0) * numel_from(wide, 2)};
}

void move_everything_dense(const Work& work, Estimate& estimate, const Chip& chip) {
  Traffic traffic(estimate, chip);
  for (const Operand& input : work.inputs) traffic.move_dense(input);
  for (const Operand& output : work.outputs) traffic.move_dense(output);
}

}  // namespace

Estimate convolution(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything_dense(work, result, chip);
  if (work.inputs.size() < 2 || work.outputs.empty()) return result;
  const Patches patches = patches_of(work.inputs[0], work.inputs[1], work.outputs[0], work.transposed);
  Contraction product{.batch = patches.groups, .m = patches.out, .k = patches.in, .n = patches.places};
  if (work.transposed) std::swap(product.m, product.k);
  contract(product, work.inputs[0].number, result, chip);
  return result;
}

Estimate convolution_backward(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything_dense(work, result, chip);
  if (work.inputs.size() < 3) return result;
  const Operand &grad = work.inputs[0], &input = work.inputs[1], &weight = work.inputs[2];
  const Patches patches = patches_of(input, weight, grad, work.transposed);
  if (!work.outputs.empty() && work.outputs[0].defined()) {
    Contraction product{.batch = patches.groups, .m = patches.in, .k = patches.out, .n = patches.places};
    if (work.transposed) std::swap(product.m, product.k);
    contract(product, grad.number, result, chip);
  }
  if (work.outputs.size() > 1 && work.outputs[1].defined()) {
    contract({.batch = patches.groups, .m = patches.out, .k = patches.places, .n = patches.in}, grad.number, result,
             chip);
  }
  return result;
}

}  // namespace neuron::device::cost
