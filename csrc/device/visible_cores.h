// Which logical cores a process sees.
#pragma once

namespace neuron::device {

struct VisibleCores {
  int first;
  int count;
};

// NEURON_RT_VISIBLE_CORES, else NEURON_RT_NUM_CORES, else all `logical_cores` of the instance. Throws
// std::invalid_argument that names the variable, the value and the legal values.
VisibleCores visible_cores(int logical_cores);

}  // namespace neuron::device
