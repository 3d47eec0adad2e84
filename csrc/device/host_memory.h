// How much the host can still back. The simulated HBM may be larger than the machine; a write that the host could not
// back would get the process killed, so large writers ask first.
#pragma once

#include <cstddef>
#include <string>

namespace neuron::device {

constexpr size_t kHostCheckBytes = size_t{64} << 20;

// Bytes that may still be touched: the least of MemAvailable and what the process's memory cgroup (v1 or v2) and the
// groups above it leave. Page cache that the kernel can drop counts as available. Reads the files anew at every call.
// SIZE_MAX when the host tells neither. `root` is prefixed to the paths under /proc and /sys, so that a made-up tree
// can stand in for them.
size_t host_available_bytes(const std::string& root = "");

// How many of the pages that [address, address + nbytes) touches are already backed, in bytes.
size_t resident_bytes(const void* address, size_t nbytes);

}  // namespace neuron::device
