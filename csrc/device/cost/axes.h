// Along which dimensions an op acts.
#pragma once

#include "device/cost/work.h"

namespace neuron::device::cost {

struct Axes {
  double last = 1;    // elements along the last dimension, if the op acts along it
  double others = 1;  // elements along the other dimensions that it acts along
  double all = 1;     // elements of the operand

  bool along_last() const { return last > 1; }
  bool along_others() const { return others > 1; }
  double along() const { return last * others; }
  // Everything is reduced to one value.
  bool everything() const { return along() == all; }
};

// Dimensions of size 1 are not there. No `dims`: all of them.
Axes axes_of(const Operand& operand, std::span<const int64_t> dims);

}  // namespace neuron::device::cost
