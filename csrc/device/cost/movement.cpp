#include "device/cost/classes.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {

Estimate fill(const Work& work, const Chip& chip) {
  Estimate result;
  Traffic traffic(result, chip);
  for (const Operand& output : work.outputs) {
    // In which order the elements of a dense tensor are written does not matter when they are all the same.
    const double bytes = stored_bytes(output);
    traffic.move_runs(bytes, is_permuted(output) ? bytes : contiguous_run(output), output.element_bytes);
  }
  return result;
}

Estimate copy(const Work& work, const Chip& chip) {
  Estimate result;
  move_everything(work, result, chip);
  return result;
}

Estimate transpose(const Work& work, const Chip& chip) {
  Estimate result;
  Traffic traffic(result, chip);
  for (const Operand& input : work.inputs) traffic.transpose(input);
  for (const Operand& output : work.outputs) traffic.move_dense(output);
  return result;
}

}  // namespace neuron::device::cost
