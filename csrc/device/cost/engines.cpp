#include "device/cost/engines.h"

#include <algorithm>
#include <cmath>

#include "device/cost/traffic.h"

namespace neuron::device::cost {

double per_lane(double elements, const Chip& chip) { return std::ceil(elements / (chip.partitions * chip.lnc)); }

double instruction_ns(double cycles, double clock, const Chip& chip) {
  return cycles == 0 ? 0 : std::max(cycles, chip.instruction_cycles) / clock;
}

Arithmetic arithmetic_of(const Work& work, const Chip& chip) {
  Arithmetic result;
  bool any = false, any_float = false;
  result.all_16bit = true;
  result.bytes = 0;
  const auto see = [&](const Operand& operand) {
    if (!operand.defined() || numel(operand) <= 1) return;
    const double bytes = operand.element_bytes;
    result.all_16bit = result.all_16bit && operand.number == Number::kFloat16;
    const bool is_float = operand.number != Number::kInteger;
    // Floats outrank integers, and of either the widest counts.
    if (!any || (is_float && !any_float) || (is_float == any_float && bytes > result.bytes)) {
      result.number = operand.number;
      result.bytes = bytes;
    }
    any = true;
    any_float = any_float || is_float;
  };
  for (const Operand& input : work.inputs) see(input);
  for (const Operand& output : work.outputs) see(output);
  if (!any) {
    for (const Operand& output : work.outputs) {
      if (!output.defined()) continue;
      result.number = output.number;
      result.bytes = output.element_bytes;
      result.all_16bit = output.number == Number::kFloat16;
      break;
    }
  }
  result.exact_wide = result.number == Number::kInteger && result.bytes >= 4 && !work.bitwise;
  result.gpsimd_passes = result.number == Number::kInteger && result.bytes > 4 ? chip.gpsimd_int64_passes : 1;
  return result;
}

void run_passes(const Passes& passes, double elements, const Work& work, Estimate& estimate, const Chip& chip) {
  const Arithmetic arithmetic = arithmetic_of(work, chip);
  const double lane = per_lane(elements, chip);
  if (lane == 0) return;
  const bool fast = arithmetic.all_16bit && work.arithmetic;
  const double width = arithmetic.all_16bit                   ? chip.vector_scalar_width_16bit
                       : arithmetic.number == Number::kFloat8 ? chip.vector_scalar_width_8bit
                                                              : chip.vector_scalar_width;
  const double tensor_cycles = fast ? chip.vector_tensor_cycles_16bit : chip.vector_tensor_cycles;
  const double reduce_width = fast ? chip.vector_reduce_width_16bit : 1;

  // One kind of instruction after the other. Most ops have one or two of them.
  const auto run = [&](double count, double cycles, double clock, double& engine) {
    if (count != 0) engine += count * instruction_ns(cycles, clock, chip);
  };
  const auto run_on_gpsimd = [&](double count) {
    if (count == 0) return;
    estimate.gpsimd_ns += count * (chip.gpsimd_start_cycles + lane * arithmetic.gpsimd_passes) / chip.gpsimd_clock;
  };
  if (passes.tensor_scalar != 0) {
    run(passes.tensor_scalar, lane / width, chip.vector_clock, estimate.vector_ns);
  }
  if (arithmetic.exact_wide) {
    run_on_gpsimd(passes.tensor_tensor);
  } else {
    run(passes.tensor_tensor, lane * tensor_cycles, chip.vector_clock, estimate.vector_ns);
  }
  run(passes.lane, lane, chip.vector_clock, estimate.vector_ns);
  if (passes.reduce != 0) run(passes.reduce, lane / reduce_width, chip.vector_clock, estimate.vector_ns);
  run(passes.scan, lane * chip.vector_scan_cycles, chip.vector_clock, estimate.vector_ns);
  run(passes.reciprocal, lane * chip.reciprocal_cycles, chip.vector_clock, estimate.vector_ns);
  run_on_gpsimd(passes.gpsimd);
  run(passes.activation, lane, chip.scalar_clock, estimate.scalar_ns);
  if (chip.exp_speedup == 0) {
    run(passes.exp, lane, chip.scalar_clock, estimate.scalar_ns);
  } else if (passes.exp != 0) {
    run(passes.exp, lane / chip.exp_speedup, chip.scalar_clock, estimate.vector_ns);
  }
  estimate.flops += elements * (passes.tensor_scalar + passes.tensor_tensor + passes.lane + passes.reduce +
                                passes.scan + passes.reciprocal + passes.activation + passes.exp + passes.gpsimd);
}

double elements_of(const Work& work) {
  double listed = 0, largest = 0;
  for (size_t i = 0; i < work.inputs.size(); ++i) {
    const double elements = numel(work.inputs[i]);
    if (i < static_cast<size_t>(work.lead)) listed += elements;
    largest = std::max(largest, elements);
  }
  for (const Operand& output : work.outputs) largest = std::max(largest, numel(output));
  return std::max(listed, largest);
}

}  // namespace neuron::device::cost
