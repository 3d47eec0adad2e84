#include "device/cost/traffic.h"

#include <algorithm>
#include <cmath>

namespace neuron::device::cost {

double numel(const Operand& operand) { return numel_from(operand, 0); }

double numel_from(const Operand& operand, size_t first) {
  if (!operand.defined()) return 0;
  double product = 1;
  for (size_t i = first; i < operand.sizes.size(); ++i) product *= static_cast<double>(operand.sizes[i]);
  return product;
}

double stored_bytes(const Operand& operand) {
  if (!operand.defined()) return 0;
  double elements = 1;
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] == 0) return 0;
    if (operand.strides[i] != 0) elements *= static_cast<double>(operand.sizes[i]);
  }
  return elements * operand.element_bytes;
}

double contiguous_run(const Operand& operand) {
  int64_t run = 1;
  for (size_t i = operand.sizes.size(); i-- > 0;) {
    if (operand.sizes[i] == 1 || operand.strides[i] == 0) continue;
    if (operand.strides[i] != run) break;
    run *= operand.sizes[i];
  }
  return static_cast<double>(run) * operand.element_bytes;
}

bool is_permuted(const Operand& operand) {
  const double bytes = stored_bytes(operand);
  if (bytes == 0 || contiguous_run(operand) == bytes) return false;
  double span = 1;
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    span += static_cast<double>((operand.sizes[i] - 1) * operand.strides[i]);
  }
  return span * operand.element_bytes == bytes;
}

double transfer_ns(double bytes, double run, double element_bytes, const Chip& chip) {
  if (bytes == 0) return 0;
  const double share = std::max(element_bytes, bytes / (chip.partitions * chip.lnc));
  const double contiguous = std::min({run, share, chip.dma_saturation_bytes});
  // The curve contiguous / (contiguous + half), scaled to reach 1 where transfers saturate; with one division.
  const double half = chip.dma_half_rate_bytes;
  return bytes * (contiguous + half) * chip.dma_saturation_bytes /
         (contiguous * (chip.dma_saturation_bytes + half) * chip.lnc * chip.memory_bandwidth);
}

void Traffic::move_runs(double bytes, double run, double element_bytes) {
  estimate_.bytes += bytes;
  estimate_.memory_ns += transfer_ns(bytes, run, element_bytes, chip_);
}

void Traffic::move_dense(const Operand& operand, double times) {
  const double bytes = stored_bytes(operand);
  estimate_.bytes += times * bytes;
  estimate_.memory_ns += times * transfer_ns(bytes, bytes, operand.element_bytes, chip_);
}

void Traffic::move(const Operand& operand, const Operand& order) {
  const double bytes = stored_bytes(operand);
  if (bytes == 0) return;
  if (!is_permuted(operand)) return move_runs(bytes, contiguous_run(operand), operand.element_bytes);
  if (std::ranges::equal(operand.strides, order.strides) && std::ranges::equal(operand.sizes, order.sizes)) {
    return move_dense(operand);
  }
  transpose(operand);
}

// Elements of two bytes are transposed by the DMA engines, others by the Tensor engine.
void Traffic::transpose(const Operand& operand) {
  const double bytes = stored_bytes(operand);
  if (bytes == 0) return;
  const double moved = transfer_ns(bytes, bytes, operand.element_bytes, chip_);
  estimate_.bytes += bytes;
  if (operand.element_bytes == 2) {
    estimate_.memory_ns += moved / chip_.dma_transpose_rate;
    return;
  }
  const double tiles = std::ceil(bytes / operand.element_bytes / (chip_.partitions * chip_.partitions * chip_.lnc));
  estimate_.memory_ns += moved;
  estimate_.tensor_ns += tiles * chip_.tensor_transpose_cycles / chip_.tensor_clock;
}

void move_everything(const Work& work, Estimate& estimate, const Chip& chip) {
  static constexpr Operand kAbsent;
  const Operand& order = work.outputs.empty() ? kAbsent : work.outputs.front();
  Traffic traffic(estimate, chip);
  traffic.move_all(work.inputs, order);
  traffic.move_all(work.outputs, order);
}

}  // namespace neuron::device::cost
