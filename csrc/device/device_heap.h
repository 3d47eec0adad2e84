// The state behind heap.h: one DeviceHeap per device, one Stack per HBM stack.
//
// Locking: a stack's mutex guards the stack and the heaps of all its devices. It is the only lock on any path (devices
// of different stacks share nothing), so there is no order to keep; only lock_all holds several, in index order. At
// LNC=2 a stack has one device, so this is a mutex per device.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "heap.h"
#include "pool.h"
#include "segment.h"
#include "size_class.h"

namespace neuron::device {

class DeviceHeap;

struct alignas(64) Stack {
  std::mutex mutex;
  int index = 0;
  size_t capacity = 0;
  size_t reserved = 0;  // device segments and adopted host blocks of all its devices; never above capacity
  BlockStore blocks;
  std::vector<DeviceHeap*> devices;

  size_t left() const { return capacity - reserved; }
  // Merges all unused device memory and gives segments back that are wholly free.
  void release_cached(ReleasedOwners& released);
};

class DeviceHeap {
 public:
  DeviceHeap(Stack& stack, int index, size_t span_bytes) : stack(stack), index_(index), ranges_(span_bytes) {}

  // All with the stack's mutex held.

  // A block of that size, marked used but not charged; nullptr when neither the caches nor the stack have it.
  Block* take(uint8_t pool, const BlockSize& size, ReleasedOwners& released) {
    if (size.size_class != kNoClass) {
      if (Block* block = pools_[pool].pop_quick(size.size_class)) {
        block->state = Block::State::kUsed;
        return block;
      }
    }
    return take_slowly(pool, size, released);
  }
  // Puts an uncharged block back into the caches.
  void put(Block* block, ReleasedOwners& released) {
    Pool& pool = pools_[block->pool];
    if (block->size_class != kNoClass) {
      pool.push_quick(block);
    } else {
      pool.give_back(block, stack.blocks, released);
    }
  }

  // Counts a block's bytes under its charge, and no longer.
  void charge(const Block& block) {
    if (block.charge == Charge::kTensor) {
      charge_tensor(counters.all, block);
      charge_tensor(pool_counters(block.pool), block);
    } else if (block.charge == Charge::kScratch) {
      // Not the peak: whether this is scratch or a result is known when the block is freed or kept.
      counters.scratch_bytes.current += static_cast<int64_t>(block.size);
      counters.scratch_bytes.allocated += static_cast<int64_t>(block.size);
    }
  }
  // `kept`: a kernel returned it, so it goes on as tensor memory.
  void discharge(const Block& block, bool kept = false) {
    if (block.charge == Charge::kTensor) {
      discharge_tensor(counters.all, block);
      discharge_tensor(pool_counters(block.pool), block);
      if (is_host(block.pool)) unreserve(block.pool, block.size);
    } else if (block.charge == Charge::kScratch) {
      if (!kept && counters.scratch_bytes.peak < counters.scratch_bytes.current) {
        counters.scratch_bytes.peak = counters.scratch_bytes.current;
      }
      counters.scratch_bytes.decrease(static_cast<int64_t>(block.size));
    }
  }
  // Makes room on the stack for a host block that becomes device memory, and reserves it. False when there is none.
  bool adopt(const Block& block, ReleasedOwners& released);

  // Merges all unused blocks and gives segments back that are wholly free, those of host memory only on demand.
  void release_cached(bool host_too, ReleasedOwners& released);

  OutOfMemory out_of_memory(size_t requested);
  // The counters, with those filled in that are only computed when asked for.
  HeapStatistics statistics();

  Stack& stack;
  HeapStatistics counters;

 private:
  static void charge_tensor(PoolCounters& counters, const Block& block) {
    counters.allocated_bytes.increase(static_cast<int64_t>(block.size));
    counters.requested_bytes.increase(static_cast<int64_t>(block.requested));
    counters.allocations.increase(1);
  }
  static void discharge_tensor(PoolCounters& counters, const Block& block) {
    counters.allocated_bytes.decrease(static_cast<int64_t>(block.size));
    counters.requested_bytes.decrease(static_cast<int64_t>(block.requested));
    counters.allocations.decrease(1);
  }
  PoolCounters& pool_counters(uint8_t pool) { return is_large(pool) ? counters.large_pool : counters.small_pool; }
  void reserve(uint8_t pool, size_t bytes);
  void unreserve(uint8_t pool, size_t bytes);

  Block* take_slowly(uint8_t pool, const BlockSize& size, ReleasedOwners& released);
  // Adds a segment that holds a block of that size to the pool's free blocks. False when there is no room.
  bool grow(uint8_t pool, const BlockSize& size, ReleasedOwners& released);
  bool add_segment(uint8_t pool, size_t bytes, ReleasedOwners& released);
  void remove_segment(Segment& segment, ReleasedOwners& released);

  const int index_;
  std::array<Pool, kPools> pools_;
  std::vector<std::unique_ptr<Segment>> segments_;
  AddressRanges ranges_;
};

}  // namespace neuron::device
