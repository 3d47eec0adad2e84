// What the simulated instance consists of: devices (logical NeuronCores) and the HBM stacks they use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace neuron::device {

struct Topology {
  std::string instance;   // as EC2 names it, e.g. "trn2.3xlarge"
  std::string chip;       // family name that get_device_properties reports, e.g. "trn2"
  int device_count;       // logical cores
  int devices_per_stack;  // 1 at LNC=2, 2 at LNC=1
  size_t stack_bytes;     // HBM capacity of one stack

  int stack_of(int device) const { return device / devices_per_stack; }
  int stack_count() const { return (device_count + devices_per_stack - 1) / devices_per_stack; }
};

// Resolved once from TORCH_NEURON_SIM_INSTANCE, TORCH_NEURON_SIM_DEVICES, TORCH_NEURON_SIM_HBM_GIB and
// NEURON_LOGICAL_NC_CONFIG. Throws std::invalid_argument that names the variable, the value and the legal values.
const Topology& topology();

// The legal values of TORCH_NEURON_SIM_INSTANCE, in the order they are documented.
std::vector<std::string> instance_names();

}  // namespace neuron::device
