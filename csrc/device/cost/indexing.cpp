#include <algorithm>
#include <cmath>

#include "device/cost/axes.h"
#include "device/cost/classes.h"
#include "device/cost/engines.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

// Rows of `run` elements that move one by one.
struct Rows {
  double count = 0, run = 1;
};

// How many leading dimensions of the indexed tensor the indices use up: one for each, a mask as many as it has. An
// absent index leaves its dimension whole, but those after it still decide how long a row is.
size_t indexed_dimensions(std::span<const Operand> indices) {
  size_t used = 0, last = 0;
  for (const Operand& index : indices) {
    const bool mask = index.defined() && index.number == Number::kInteger && index.element_bytes == 1;
    used += mask ? std::max<size_t>(index.sizes.size(), 1) : 1;
    if (index.defined()) last = used;
  }
  return last;
}

// `moved` elements go to or from `indexed`, along `dims` or the leading dimensions that `indices` use.
Rows rows_of(const Work& work, const Operand& indexed, std::span<const Operand> indices, double moved) {
  if (work.elements) return {moved, 1};
  size_t first = indexed_dimensions(indices);
  if (!work.dims.empty()) {
    const int64_t dim = work.dims.front();
    first = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(indexed.sizes.size()) : dim) + 1;
  }
  const double run = std::max(1.0, numel_from(indexed, first));
  return {std::ceil(moved / run), run};
}

double descriptors_ns(double rows, const Chip& chip) {
  if (rows == 0) return 0;
  return (chip.gpsimd_start_cycles + rows / (chip.gpsimd_rows_per_cycle * chip.lnc)) / chip.gpsimd_clock;
}

}  // namespace

Estimate gather(const Work& work, const Chip& chip) {
  Estimate result;
  if (work.inputs.empty() || work.outputs.empty()) return result;
  const Operand &source = work.inputs[0], &output = work.outputs[0];
  const auto indices = work.inputs.subspan(1);
  const double element = source.element_bytes;
  const double moved = work.elements && !indices.empty() ? numel(indices.front()) : numel(output);
  const Rows rows = rows_of(work, source, indices, moved);
  Traffic traffic(result, chip);
  traffic.move_runs(rows.count * rows.run * element, rows.run * element, element);
  traffic.move_all(indices, output);
  traffic.move_all(work.outputs, output);
  result.gpsimd_ns = descriptors_ns(rows.count, chip);
  run_passes(work.passes, numel(output), work, result, chip);
  return result;
}

Estimate scatter(const Work& work, const Chip& chip) {
  Estimate result;
  if (work.inputs.size() < 3 || work.outputs.empty()) return result;
  const Operand &destination = work.inputs[0], &values = work.inputs[1], &output = work.outputs[0];
  const auto indices = work.inputs.subspan(2);
  const double element = output.element_bytes;
  Rows rows;
  if (work.elements) {
    rows.count = numel(indices.front());
  } else {
    // One value may be spread over all rows.
    rows = rows_of(work, output, indices, numel(values));
    for (const Operand& index : indices) rows.count = std::max(rows.count, numel(index));
  }
  const double bytes = rows.count * rows.run * element;
  Traffic traffic(result, chip);
  traffic.move_runs(work.accumulate ? 2 * bytes : bytes, rows.run * element, element);
  traffic.move_all(indices, output);
  traffic.move(values, output);
  // A new result starts as a copy of the destination, or filled if there is none.
  if (!work.in_place) {
    traffic.move(destination, output);
    traffic.move(output, output);
  }
  result.gpsimd_ns = descriptors_ns(rows.count, chip);
  result.flops += work.accumulate ? rows.count * rows.run : 0;
  return result;
}

// topk of GpSimd: rows spread over the partitions.
Estimate sort(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything(work, result, chip);
  if (work.inputs.empty()) return result;
  const Axes axes = axes_of(work.inputs[0], work.dims);
  const double length = axes.along();
  if (length == 0) return result;
  const double kept = work.count > 0 ? std::min(static_cast<double>(work.count), length) : length;
  const double cycles = per_lane(axes.all / length, chip) * (chip.topk_cycles * length + kept);
  result.gpsimd_ns += (chip.gpsimd_start_cycles + cycles) / chip.gpsimd_clock;
  return result;
}

}  // namespace neuron::device::cost
