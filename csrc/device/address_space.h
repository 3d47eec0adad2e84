// The two address ranges of the simulated HBM.
//
// Device range: reserved PROT_NONE and never backed. Every address a user sees (`data_ptr()`) lies here, so host code
// that dereferences it faults, as it would on real hardware.
// Kernel view: really backed, at a constant distance from the device range. Kernels translate with one addition.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace neuron::device {

class AddressSpace {
 public:
  // Reserves both ranges for `device_count` devices, each spanning the power of two at or above `span_bytes`.
  // Throws std::runtime_error when the process may not reserve that much address space. Not to be called by two threads
  // at once; a second call does nothing.
  static void reserve(int device_count, size_t span_bytes);

  static char* to_kernel_view(const void* device_address) {
    return device_address ? static_cast<char*>(const_cast<void*>(device_address)) + view_offset_ : nullptr;
  }
  static char* to_device(const void* view_address) {
    return view_address ? static_cast<char*>(const_cast<void*>(view_address)) - view_offset_ : nullptr;
  }
  // Both are false for every address until reserve() has succeeded, and may be asked by any thread at any time.
  static bool in_device_range(const void* p) {
    const size_t total = total_bytes_.load(std::memory_order_acquire);
    return address(p) - device_base_.load(std::memory_order_relaxed) < total;
  }
  static bool in_kernel_view(const void* p) {
    const size_t total = total_bytes_.load(std::memory_order_acquire);
    return address(p) - view_base_.load(std::memory_order_relaxed) < total;
  }
  // Precondition: in_device_range(p).
  static int device_of(const void* p) {
    return static_cast<int>((address(p) - device_base_.load(std::memory_order_relaxed)) >> span_shift_);
  }
  // First kernel-view address of a device, and the bytes each device spans.
  static char* view_of_device(int device) {
    const uintptr_t first = view_base_.load(std::memory_order_relaxed) + (static_cast<size_t>(device) << span_shift_);
    return reinterpret_cast<char*>(first);
  }
  static size_t span_bytes() { return size_t{1} << span_shift_; }
  // Offset of a kernel-view address within the whole view; what per-address tables are indexed by.
  static size_t view_index(const void* p) { return address(p) - view_base_.load(std::memory_order_relaxed); }
  static size_t total_bytes() { return total_bytes_.load(std::memory_order_acquire); }

  // Gives pages of the kernel view a backing / takes it away (contents are lost). Page-aligned. `huge_pages` lets the
  // kernel back them with huge pages; without it they stay small, so that touching a little costs a little.
  // Both throw std::runtime_error when the host refuses.
  static void commit(char* view_address, size_t bytes, bool huge_pages);
  static void decommit(char* view_address, size_t bytes);

 private:
  static uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

  // Atomic because the two range tests may run while another thread reserves; on x86 the loads are plain loads.
  inline static std::atomic<uintptr_t> device_base_{0};
  inline static std::atomic<uintptr_t> view_base_{0};
  inline static std::atomic<size_t> total_bytes_{0};  // stored last
  inline static ptrdiff_t view_offset_ = 0;
  inline static int span_shift_ = 0;
};

}  // namespace neuron::device
