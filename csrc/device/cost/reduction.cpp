#include <algorithm>

#include "device/cost/axes.h"
#include "device/cost/classes.h"
#include "device/cost/engines.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

// Columns of 128 elements that the Tensor engine takes in, to sum them over partitions (a product with ones) or, for
// what no sum gives, to transpose them for the Vector engine.
double columns_ns(double elements, double passes, const Chip& chip) {
  const double columns = std::max(per_lane(elements, chip), chip.instruction_cycles);
  return passes * columns / chip.tensor_clock;
}

}  // namespace

Estimate reduction(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything(work, result, chip);
  if (work.inputs.empty()) return result;
  const auto lead = std::min(work.inputs.size(), static_cast<size_t>(std::max(work.lead, 1)));
  for (const Operand& operand : work.inputs.first(lead)) {
    if (!operand.defined()) continue;
    const Axes axes = axes_of(operand, work.dims);
    Passes passes = work.passes;
    double over_partitions = 0;  // elements
    if (axes.along() == 1) {
      // Nothing to reduce, though what comes before it (a square, an absolute value) is to be done.
    } else if (axes.along_last() || axes.everything()) {
      passes.reduce += 1;
      // What is left for each partition is one value if everything is reduced, else a value for each row.
      if (axes.everything()) {
        over_partitions = chip.partitions * chip.lnc;
      } else if (axes.along_others()) {
        over_partitions = axes.all / axes.last;
      }
    } else {
      over_partitions = axes.all;
      result.flops += axes.all;
    }
    if (over_partitions > 0) {
      const bool fp32 = work.by_matmul && operand.number == Number::kFloat32;
      result.tensor_ns += columns_ns(over_partitions, fp32 ? chip.tensor_fp32_passes : 1, chip);
      Estimate after;
      if (!work.by_matmul) run_passes({.reduce = 1}, over_partitions, work, after, chip);
      result.vector_ns += after.vector_ns;  // its flops were counted, or combine what was
    }
    run_passes(passes, axes.all, work, result, chip);
  }
  return result;
}

Estimate scan(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything(work, result, chip);
  if (work.inputs.empty()) return result;
  const Axes axes = axes_of(work.inputs.front(), work.dims);
  if (axes.along_others()) result.tensor_ns += 2 * columns_ns(axes.all, 1, chip);
  run_passes({.scan = 1}, axes.all, work, result, chip);
  return result;
}

namespace {

Estimate by_rows(const Work& work, const Passes& passes, const Chip& chip) {
  Estimate result;
  move_everything(work, result, chip);
  if (work.inputs.empty()) return result;
  if (axes_of(work.inputs.front(), work.dims).along_others() && !work.dims.empty()) {
    result.tensor_ns += 2 * columns_ns(elements_of(work), 1, chip);
  }
  run_passes(passes, elements_of(work), work, result, chip);
  return result;
}

bool any(const Passes& passes) {
  return passes.tensor_scalar + passes.tensor_tensor + passes.lane + passes.reduce + passes.scan + passes.reciprocal +
             passes.activation + passes.exp + passes.gpsimd >
         0;
}

}  // namespace

Estimate softmax(const Work& work, const Chip& chip) {
  return by_rows(work, any(work.passes) ? work.passes : Passes{.tensor_scalar = 1, .reduce = 1, .exp = 1}, chip);
}

// Statistics, then their application. The rows of a normalisation lie along the last dimensions.
Estimate norm(const Work& work, const Chip& chip) {
  return by_rows(work, any(work.passes) ? work.passes : Passes{.lane = 2}, chip);
}

}  // namespace neuron::device::cost
