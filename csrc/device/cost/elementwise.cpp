#include "device/cost/classes.h"
#include "device/cost/engines.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

Estimate with_passes(const Passes& passes, const Work& work, const Chip& chip) {
  Estimate result;
  move_everything(work, result, chip);
  run_passes(passes, elements_of(work), work, result, chip);
  return result;
}

bool has_two_tensors(const Work& work) {
  int tensors = 0;
  for (const Operand& input : work.inputs) tensors += numel(input) > 1;
  return tensors > work.lead;
}

}  // namespace

Estimate unary(const Work& work, const Chip& chip) { return with_passes({.tensor_scalar = 1}, work, chip); }

Estimate binary(const Work& work, const Chip& chip) {
  return has_two_tensors(work) ? with_passes({.tensor_tensor = 1}, work, chip) : unary(work, chip);
}

Estimate elementwise(const Work& work, const Chip& chip) { return with_passes(work.passes, work, chip); }

Estimate transcendental(const Work& work, const Chip& chip) { return with_passes({.activation = 1}, work, chip); }

// By a scalar it is a product with the scalar's reciprocal.
Estimate division(const Work& work, const Chip& chip) {
  return has_two_tensors(work) ? with_passes({.tensor_tensor = 1, .reciprocal = 1}, work, chip) : unary(work, chip);
}

Estimate power(const Work& work, const Chip& chip) { return with_passes({.gpsimd = 1}, work, chip); }

Estimate affine(const Work& work, const Chip& chip) { return with_passes({.gpsimd = 1}, work, chip); }

}  // namespace neuron::device::cost
