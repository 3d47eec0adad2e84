// The one text of torch.OutOfMemoryError.
#pragma once

#include "device/heap.h"

namespace neuron::backend {

[[noreturn]] void throw_out_of_memory(const device::OutOfMemory& oom);

}  // namespace neuron::backend
