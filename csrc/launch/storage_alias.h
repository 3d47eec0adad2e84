// CPU storages over the kernel view of neuron storages.
#pragma once

#include <c10/core/Storage.h>

namespace neuron::launch {

// The CPU storage over the same bytes as `storage`: one per memory block, so that overlap and aliasing checks of the
// kernels stay true. It does not own the memory.
c10::Storage storage_alias(c10::StorageImpl* storage);

// Moves the memory of a CPU storage that a kernel filled to a new neuron storage on `device`. Memory that lies outside
// the kernel view is copied; `cpu` stays usable as the alias of the result.
c10::Storage adopt_storage(c10::StorageImpl* cpu, int device);

// True when `data` owns a block of the kernel view (or is the empty allocation of the switched CPU allocator).
bool owns_device_memory(const c10::DataPtr& data);

// Turns the ownership that `data` has of memory in the kernel view into the DataPtr of a neuron storage; `data` must be
// given a new value then. Precondition: owns_device_memory(data).
c10::DataPtr take_device_memory(c10::DataPtr& data, int device);

// Points the alias of a neuron storage's block at the block again, after a kernel gave it other memory.
void reset_alias(c10::StorageImpl* storage);

// Lets device/ and backend/ release aliases. Once, before the first op.
void install_alias_hooks();

}  // namespace neuron::launch
