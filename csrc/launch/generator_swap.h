// For ops that draw random numbers but take no Generator: in "device" RNG mode the device's stream stands in for the
// CPU's default one while the kernel runs.
#pragma once

#include <ATen/core/Tensor.h>

namespace neuron::launch {

class GeneratorSwap {
 public:
  explicit GeneratorSwap(int device);
  GeneratorSwap(const GeneratorSwap&) = delete;
  GeneratorSwap& operator=(const GeneratorSwap&) = delete;
  ~GeneratorSwap();

 private:
  const int device_;
  c10::intrusive_ptr<c10::TensorImpl> cpu_state_;
};

}  // namespace neuron::launch
