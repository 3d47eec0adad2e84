// A caching allocator per device, over the kernel view. Knows nothing of tensors: a block carries an opaque owner slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace neuron::device {

// What a block's bytes are charged to.
enum class Charge : uint8_t {
  kTensor,   // memory a program holds: counts as allocated
  kScratch,  // memory a native kernel uses within one op: counts against capacity, not as allocated
  kHost,     // memory a fallback uses within one op: on a real device it would be host memory, so it is not counted
};

struct Segment;

struct Block {
  char* view = nullptr;  // kernel-view address
  size_t size = 0;       // rounded bytes
  size_t requested = 0;  // bytes asked for
  Segment* segment = nullptr;
  Block* previous = nullptr;  // neighbours by address within the segment
  Block* next = nullptr;
  Block* link = nullptr;  // next in a quick list, or among the recycled objects
  int16_t device = 0;
  uint16_t size_class = 0;
  Charge charge = Charge::kTensor;
  enum class State : uint8_t { kUsed, kQuick, kFree } state = State::kFree;
  uint8_t pool = 0;                   // which pool of its device it belongs to
  std::atomic<void*> owner{nullptr};  // cleared through the function given to set_owner_release when a block dissolves
};

// Sizes in bytes. `requested` is what the failed call asked for.
struct OutOfMemory {
  int device, stack;
  size_t requested, capacity;
  size_t allocated, scratch, cached;  // of all devices that share the stack
};

struct PoolCounters {
  struct Counter {
    int64_t current = 0, peak = 0, allocated = 0, freed = 0;
    void increase(int64_t n) {
      current += n;
      allocated += n;
      if (current > peak) peak = current;
    }
    void decrease(int64_t n) {
      current -= n;
      freed += n;
    }
    void set(int64_t n) { n >= current ? increase(n - current) : decrease(current - n); }
  };
  Counter allocated_bytes, requested_bytes, allocations;  // Charge::kTensor
  Counter reserved_bytes, segments;
  Counter inactive_split_bytes, inactive_splits;  // free blocks in segments that are partly used, as of each reading
};

struct HeapStatistics {
  PoolCounters all, small_pool, large_pool;
  PoolCounters::Counter scratch_bytes;
  int64_t num_alloc_retries = 0, num_ooms = 0, num_device_alloc = 0, num_device_free = 0;
};

namespace heap {

// All may be called by any thread. `device` must be a valid index. The first allocation reserves the address space;
// until then the functions that only ask answer with zeros.

// Returns nullptr and fills `oom` when the stack, or the device's range of addresses, has no room. Throws
// std::runtime_error only when the host refuses to back the memory. nbytes > 0.
Block* allocate(int device, size_t nbytes, Charge charge, OutOfMemory& oom);
// Makes a kScratch or kHost block a kTensor block. False (and `oom` filled) when it no longer fits the stack.
bool charge_to_tensor(Block* block, OutOfMemory& oom);
// Throws std::logic_error when the block is not in use.
void free(Block* block);

// The block that starts at a kernel-view address, in use or kept for reuse; nullptr when none does. Takes no lock: only
// a caller that holds the block may rely on its fields.
Block* block_at(const void* view_address);

// To be set before the first owner is. Called without a lock held, so it may use the heap; the block is gone by then.
void set_owner_release(void (*release)(void* owner));
// Gives every segment back that holds no used block, those of host memory included.
void empty_cache(int device);
HeapStatistics statistics(int device);
// Sets every peak to the current value.
void reset_peak(int device);
// Zeroes the allocated and freed totals and the four event counts.
void reset_accumulated(int device);
// Free and total bytes of the device's stack. Cached memory is not free.
void memory_info(int device, size_t& free_bytes, size_t& total_bytes);
// Fork support: taken in the parent before fork, released on both sides after it.
void lock_all();
void unlock_all();

}  // namespace heap
}  // namespace neuron::device
