#include "backend/out_of_memory.h"

#include <c10/util/Exception.h>

#include <cstdio>
#include <string>

#include "device/topology.h"

namespace neuron::backend {
namespace {

std::string readable(size_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string devices_of_stack(int stack) {
  const device::Topology& topology = device::topology();
  std::string names;
  for (int device = 0; device < topology.device_count; ++device) {
    if (topology.stack_of(device) != stack) continue;
    names += (names.empty() ? "neuron:" : " and neuron:") + std::to_string(device);
  }
  return names;
}

}  // namespace

void throw_out_of_memory(const device::OutOfMemory& oom) {
  TORCH_CHECK_WITH(OutOfMemoryError, false, "neuron out of memory. Tried to allocate ", readable(oom.requested), " (",
                   oom.requested, " bytes) on neuron:", oom.device, ". HBM stack ", oom.stack, " (used by ",
                   devices_of_stack(oom.stack), ") has a capacity of ", readable(oom.capacity), ", of which ",
                   readable(oom.allocated), " are allocated by tensors, ", readable(oom.scratch),
                   " are kernel scratch and ", readable(oom.cached),
                   " are cached but unused. Free tensors, call torch.neuron.empty_cache(), or use a smaller batch");
}

}  // namespace neuron::backend
