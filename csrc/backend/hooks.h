#pragma once

namespace neuron::backend {

// Gives PyTorch the accelerator hooks of the neuron device. Once per process.
void register_hooks();

}  // namespace neuron::backend
