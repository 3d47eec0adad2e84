// What the simulated instance consists of: chips, HBM stacks, and the devices (logical NeuronCores) that are visible.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace neuron::device {

struct Topology {
  std::string instance;   // as EC2 names it, e.g. "trn2.3xlarge"
  std::string family;     // the name that get_device_properties reports, e.g. "trn2"
  std::string chip;       // the chip, e.g. "trainium2"
  int chips;              // of the instance
  int cores_per_chip;     // physical NeuronCores
  int lnc;                // physical cores of a logical one: 1 or 2
  int logical_cores;      // of the instance
  int first_core;         // the logical core that is device 0
  int device_count;       // visible logical cores
  int devices_per_stack;  // logical cores that share an HBM stack: 1 at LNC=2, 2 at LNC=1
  size_t stack_bytes;     // HBM capacity of one stack

  // Numbers of what a device lies in. Stacks that no device uses are not counted.
  int core_of(int device) const { return first_core + device; }
  int stack_of(int device) const { return core_of(device) / devices_per_stack - first_core / devices_per_stack; }
  int stack_count() const { return stack_of(device_count - 1) + 1; }
  int chip_of(int device) const { return core_of(device) * lnc / cores_per_chip; }
};

// Resolved once from TORCH_NEURON_SIM_INSTANCE, TORCH_NEURON_SIM_DEVICES, TORCH_NEURON_SIM_HBM_GIB,
// NEURON_LOGICAL_NC_CONFIG or NEURON_RT_VIRTUAL_CORE_SIZE, and NEURON_RT_VISIBLE_CORES or NEURON_RT_NUM_CORES. Throws
// std::invalid_argument that names the variable, the value and the legal values.
const Topology& topology();

// The legal values of TORCH_NEURON_SIM_INSTANCE, in the order they are documented.
std::vector<std::string> instance_names();

}  // namespace neuron::device
