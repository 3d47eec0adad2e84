// The device's part of torch.profiler.
#pragma once

#include <cstdint>

namespace neuron::backend {

// `device_ns`: what the calling thread's calls have taken on the device so far.
void register_profiler(int64_t (*device_ns)());

}  // namespace neuron::backend
