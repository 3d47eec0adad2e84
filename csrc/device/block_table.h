// Finds the block that starts at an address: one pointer for every granule of the kernel view, in a sparse mapping that
// costs host memory only where blocks start.
#pragma once

#include <atomic>
#include <cstddef>

#include "address_space.h"
#include "size_class.h"

namespace neuron::device {

struct Block;

class BlockTable {
 public:
  // After AddressSpace::reserve. Throws std::runtime_error. A second call does nothing.
  static void reserve();

  // Precondition of all three: reserved, and the address is in the kernel view and a multiple of kGranule. Entries can
  // be set only where `prepare` covers them; everywhere else they read as nullptr.
  static Block* find(const void* view_address) { return entry(view_address).load(std::memory_order_acquire); }
  static void set(const void* view_address, Block* block) {
    entry(view_address).store(block, std::memory_order_release);
  }
  static void clear(const void* view_address) {
    // A store would give an entry that was never set a page of its own.
    if (find(view_address)) set(view_address, nullptr);
  }

  // For a segment's range of addresses, aligned to kSegmentAlignment. `prepare` throws std::runtime_error when the host
  // refuses; `discard` empties the entries and gives their pages back.
  static void prepare(char* view_address, size_t bytes);
  static void discard(char* view_address, size_t bytes);

 private:
  using Entry = std::atomic<Block*>;
  static Entry& entry(const void* view_address) { return entries_[AddressSpace::view_index(view_address) / kGranule]; }

  inline static Entry* entries_ = nullptr;
};

}  // namespace neuron::device
