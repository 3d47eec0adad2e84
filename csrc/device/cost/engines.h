// Cycles of the Vector, Scalar and GpSimd engines for instructions over all elements of a tensor.
//
// Each engine works on `partitions` lanes, and a tensor spreads over those of all cores. Formulas: Neuron docs, nki.isa
// API reference of SDK 2.26, and the Trainium2 and Trainium3 architecture guides.
#pragma once

#include "device/cost/chip.h"
#include "device/cost/work.h"

namespace neuron::device::cost {

// Elements that each lane works on.
double per_lane(double elements, const Chip& chip);
// ns of an instruction over `cycles` elements, or of the least that one takes.
double instruction_ns(double cycles, double clock, const Chip& chip);

// What the rates of an op depend on: the widest kind of number among its tensors that have more than one element.
struct Arithmetic {
  Number number = Number::kFloat32;
  double bytes = 4;          // of the widest element
  bool all_16bit = false;    // every such tensor holds bfloat16 or float16
  bool exact_wide = false;   // integers of 32 bits or more: GpSimd computes them exactly
  double gpsimd_passes = 1;  // for integers of 64 bits
};
Arithmetic arithmetic_of(const Work& work, const Chip& chip);

// Adds the passes over `elements` elements to the engines' times and to flops.
void run_passes(const Passes& passes, double elements, const Work& work, Estimate& estimate, const Chip& chip);

// Elements that an elementwise op works on: the largest tensor's, or the sum of a list's.
double elements_of(const Work& work);

}  // namespace neuron::device::cost
