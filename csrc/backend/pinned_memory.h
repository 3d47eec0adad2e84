// Pinned host memory: ordinary host memory that remembers it was pinned, so that is_pinned() tells the truth.
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace neuron::backend {

at::HostAllocator* pinned_allocator();
bool is_pinned(const void* pointer);

}  // namespace neuron::backend
