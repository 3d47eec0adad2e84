#include "device/cost/contraction.h"

#include <algorithm>
#include <cmath>

#include "device/cost/engines.h"

namespace neuron::device::cost {
namespace {

// Cycles of one K tile with `stationary` columns held and `moving` columns passing: every tile of the one meets every
// tile of the other, and a pass takes a cycle for each moving column, but no less than min(least, stationary columns).
double pass_cycles(double stationary, double moving, const Chip& chip) {
  const double whole_stationary = std::floor(stationary / chip.tensor_stationary);
  const double rest_stationary = stationary - whole_stationary * chip.tensor_stationary;
  const double whole_moving = std::floor(moving / chip.tensor_moving);
  const double rest_moving = moving - whole_moving * chip.tensor_moving;
  const auto row = [&](double held) {
    if (held == 0) return 0.0;
    const double least = std::min(chip.instruction_cycles, held);
    return whole_moving * std::max(least, chip.tensor_moving) + (rest_moving > 0 ? std::max(least, rest_moving) : 0);
  };
  return whole_stationary * row(chip.tensor_stationary) + row(rest_stationary);
}

}  // namespace

double tensor_ns(const Contraction& product, Number number, const Chip& chip) {
  const double rows = number == Number::kFloat8 ? chip.tensor_rows_fp8 : chip.tensor_rows;
  // There is no integer product: integers are converted to fp32.
  const double passes = number == Number::kFloat32 || number == Number::kInteger ? chip.tensor_fp32_passes : 1;
  const double one = std::min(pass_cycles(product.m, product.n, chip), pass_cycles(product.n, product.m, chip));
  return product.batch * passes * std::ceil(product.k / rows) * one / (chip.lnc * chip.tensor_clock);
}

double reads_of_larger(double smaller_bytes, const Chip& chip) {
  return std::max(1.0, std::ceil(smaller_bytes / (chip.lnc * chip.sbuf_bytes / 2)));
}

void contract(const Contraction& product, Number number, Estimate& estimate, const Chip& chip) {
  estimate.tensor_ns += tensor_ns(product, number, chip);
  const double results = product.batch * product.m * product.n;
  estimate.vector_ns += instruction_ns(per_lane(results, chip), chip.vector_clock, chip);
  estimate.flops += 2 * results * product.k;
}

}  // namespace neuron::device::cost
