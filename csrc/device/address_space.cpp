#include "address_space.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace neuron::device {
namespace {

// Segments start at multiples of this, so that the kernel can back large ones with huge pages.
constexpr size_t kAlignment = size_t{2} << 20;

[[noreturn]] void fail(const std::string& what, const char* call, const char* advice) {
  throw std::runtime_error(what + " (" + call + ": " + std::strerror(errno) + "). " + advice);
}

}  // namespace

void AddressSpace::reserve(int device_count, size_t span_bytes) {
  if (total_bytes() != 0) return;
  const size_t span = std::bit_ceil(span_bytes);
  const size_t total = span * static_cast<size_t>(device_count);
  const size_t mapped = 2 * total + kAlignment;
  // Not backed and not accounted: costs neither memory nor time, whatever the size.
  void* base = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    fail("cannot reserve " + std::to_string(mapped >> 30) + " GiB of address space for " +
             std::to_string(device_count) + " simulated neuron devices",
         "mmap",
         "Lift the limit on address space (ulimit -v unlimited), or simulate fewer devices (TORCH_NEURON_SIM_DEVICES) "
         "or less memory (TORCH_NEURON_SIM_HBM_GIB).");
  }
  // The view comes first: a kernel that runs past its end then meets the device range, and faults.
  const uintptr_t view = (address(base) + kAlignment - 1) & ~(kAlignment - 1);
  span_shift_ = std::countr_zero(span);
  view_offset_ = -static_cast<ptrdiff_t>(total);
  view_base_.store(view, std::memory_order_relaxed);
  device_base_.store(view + total, std::memory_order_relaxed);
  total_bytes_.store(total, std::memory_order_release);
}

void AddressSpace::commit(char* view_address, size_t bytes, bool huge_pages) {
  if (mprotect(view_address, bytes, PROT_READ | PROT_WRITE) != 0) {
    fail("the host cannot back " + std::to_string(bytes) + " bytes of simulated neuron device memory", "mprotect",
         "Free host memory, or raise the limit it meets (ulimit -d, vm.overcommit_memory, vm.max_map_count).");
  }
  // Advice only: a kernel without huge pages refuses it, and nothing is lost.
  madvise(view_address, bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void AddressSpace::decommit(char* view_address, size_t bytes) {
  const bool dropped = madvise(view_address, bytes, MADV_DONTNEED) == 0;
  if (!dropped || mprotect(view_address, bytes, PROT_NONE) != 0) {
    fail("the host did not take back " + std::to_string(bytes) + " bytes of simulated neuron device memory",
         dropped ? "mprotect" : "madvise",
         "Locked memory (mlockall) prevents it, and so does a low limit on mappings (vm.max_map_count).");
  }
}

}  // namespace neuron::device
