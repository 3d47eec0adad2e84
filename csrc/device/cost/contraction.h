// The Tensor engine's part of products.
#pragma once

#include "device/cost/chip.h"
#include "device/cost/work.h"

namespace neuron::device::cost {

struct Contraction {
  double batch = 1, m = 1, k = 1, n = 1;
};

// ns of `batch` products (m, k) x (k, n) of that kind of number, at full clock.
double tensor_ns(const Contraction& product, Number number, const Chip& chip);

// How often the larger operand is read, when the smaller one does not fit in half of the on-chip memory.
double reads_of_larger(double smaller_bytes, const Chip& chip);

// Adds the engines' part: products, and results that leave the accumulators by way of the Vector engine.
void contract(const Contraction& product, Number number, Estimate& estimate, const Chip& chip);

}  // namespace neuron::device::cost
