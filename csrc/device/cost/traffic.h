// Sizes of operands, and the time in which they move between HBM and the cores.
#pragma once

#include "device/cost/chip.h"
#include "device/cost/work.h"

namespace neuron::device::cost {

double numel(const Operand& operand);
// Bytes that have to move: an expanded dimension is read once.
double stored_bytes(const Operand& operand);
// Bytes that follow each other in memory, row after row.
double contiguous_run(const Operand& operand);
// Whether the elements lie densely, but not in the order of the dimensions.
bool is_permuted(const Operand& operand);
// Product of the sizes from dimension `first` on.
double numel_from(const Operand& operand, size_t first);

// ns for `bytes` that lie in runs of `run` bytes: the longer these, the nearer to memory_bandwidth, which transfers
// reach from dma_saturation_bytes on. A tensor spreads over all partitions of all cores, which limits the run: a small
// one does not reach the full rate, however dense it is.
double transfer_ns(double bytes, double run, double element_bytes, const Chip& chip);

// Adds the traffic of an op to its estimate, operand by operand.
class Traffic {
 public:
  Traffic(Estimate& estimate, const Chip& chip) : estimate_(estimate), chip_(chip) {}

  // A tensor that lies as `order` does, or else has to be transposed on the way if it is permuted.
  void move(const Operand& operand, const Operand& order);
  void move_all(std::span<const Operand> operands, const Operand& order) {
    for (const Operand& operand : operands) move(operand, order);
  }
  // A tensor whose layout the op takes as it is, `times` over.
  void move_dense(const Operand& operand, double times = 1);
  // `bytes` in runs of `run`.
  void move_runs(double bytes, double run, double element_bytes);
  // What `move` does for a permuted tensor.
  void transpose(const Operand& operand);

 private:
  Estimate& estimate_;
  const Chip& chip_;
};

// Traffic of every input and output, in the order of the first output.
void move_everything(const Work& work, Estimate& estimate, const Chip& chip);

}  // namespace neuron::device::cost
