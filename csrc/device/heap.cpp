#include "heap.h"

#include <algorithm>
#include <stdexcept>

#include "address_space.h"
#include "block_table.h"
#include "device_heap.h"
#include "topology.h"

namespace neuron::device {
namespace {

// Room for fallbacks' host memory, and for the holes that fragmentation leaves: twice the capacity, and enough
// segments where the capacity is tiny.
constexpr size_t kLeastSpan = size_t{4} << 30;

struct State {
  explicit State(const Topology& topology) : stacks(static_cast<size_t>(topology.stack_count())) {
    const size_t span = std::max(2 * topology.stack_bytes, kLeastSpan);
    AddressSpace::reserve(topology.device_count, span);
    BlockTable::reserve();
    for (size_t i = 0; i < stacks.size(); ++i) {
      stacks[i].index = static_cast<int>(i);
      stacks[i].capacity = topology.stack_bytes;
    }
    for (int i = 0; i < topology.device_count; ++i) {
      Stack& stack = stacks[static_cast<size_t>(topology.stack_of(i))];
      devices.push_back(std::make_unique<DeviceHeap>(stack, i, AddressSpace::span_bytes()));
      stack.devices.push_back(devices.back().get());
    }
  }

  std::vector<Stack> stacks;
  std::vector<std::unique_ptr<DeviceHeap>> devices;
};

// Set on first use and never destroyed: tensors may be freed until the very end of the process. A mutex rather than
// std::call_once, because fork must be able to hold off the first use.
std::mutex first_use;
std::atomic<State*> state{nullptr};
std::atomic<void (*)(void*)> owner_release{nullptr};

State* state_if_used() { return state.load(std::memory_order_acquire); }

State& initialize() {
  const std::lock_guard<std::mutex> lock(first_use);
  if (!state_if_used()) state.store(new State(topology()), std::memory_order_release);
  return *state_if_used();
}

DeviceHeap& heap_of(int device) {
  State* used = state_if_used();
  return *(used ? *used : initialize()).devices[static_cast<size_t>(device)];
}

DeviceHeap* heap_if_used(int device) {
  State* used = state_if_used();
  return used ? used->devices[static_cast<size_t>(device)].get() : nullptr;
}

// Holds a stack's mutex; releases the owners of dissolved blocks once it no longer does.
class StackLock {
 public:
  explicit StackLock(Stack& stack) : stack_(stack) { stack_.mutex.lock(); }
  ~StackLock() {
    stack_.mutex.unlock();
    if (released.empty()) return;
    const auto release = owner_release.load(std::memory_order_acquire);
    for (void* owner : released) release(owner);
  }
  StackLock(const StackLock&) = delete;
  StackLock& operator=(const StackLock&) = delete;

  ReleasedOwners released;

 private:
  Stack& stack_;
};

// Applies a function to every counter of a device.
template <typename Function>
void for_each_counter(HeapStatistics& counters, Function function) {
  for (PoolCounters* pool : {&counters.all, &counters.small_pool, &counters.large_pool}) {
    for (PoolCounters::Counter* counter :
         {&pool->allocated_bytes, &pool->requested_bytes, &pool->allocations, &pool->reserved_bytes, &pool->segments,
          &pool->inactive_splits, &pool->inactive_split_bytes}) {
      function(*counter);
    }
  }
  function(counters.scratch_bytes);
}

}  // namespace

namespace heap {

Block* allocate(int device, size_t nbytes, Charge charge, OutOfMemory& oom) {
  DeviceHeap& heap = heap_of(device);
  const BlockSize size = block_size_for(nbytes);
  StackLock lock(heap.stack);
  Block* block = heap.take(pool_index(nbytes, charge), size, lock.released);
  if (!block) {
    oom = heap.out_of_memory(nbytes);
    return nullptr;
  }
  block->requested = nbytes;
  block->charge = charge;
  heap.charge(*block);
  return block;
}

bool charge_to_tensor(Block* block, OutOfMemory& oom) {
  DeviceHeap& heap = heap_of(block->device);
  StackLock lock(heap.stack);
  if (block->charge == Charge::kTensor) return true;
  if (block->charge == Charge::kHost && !heap.adopt(*block, lock.released)) {
    oom = heap.out_of_memory(block->requested);
    return false;
  }
  heap.discharge(*block, /*kept=*/true);
  block->charge = Charge::kTensor;
  heap.charge(*block);
  return true;
}

void free(Block* block) {
  DeviceHeap& heap = heap_of(block->device);
  StackLock lock(heap.stack);
  if (block->state != Block::State::kUsed) throw std::logic_error("a neuron memory block was freed twice");
  heap.discharge(*block);
  heap.put(block, lock.released);
}

Block* block_at(const void* view_address) {
  if (!state_if_used() || !AddressSpace::in_kernel_view(view_address)) return nullptr;
  if (AddressSpace::view_index(view_address) % kGranule != 0) return nullptr;
  return BlockTable::find(view_address);
}

void set_owner_release(void (*release)(void* owner)) { owner_release.store(release, std::memory_order_release); }

void empty_cache(int device) {
  DeviceHeap* heap = heap_if_used(device);
  if (!heap) return;
  StackLock lock(heap->stack);
  heap->release_cached(/*host_too=*/true, lock.released);
}

HeapStatistics statistics(int device) {
  DeviceHeap* heap = heap_if_used(device);
  if (!heap) return {};
  StackLock lock(heap->stack);
  return heap->statistics();
}

void reset_peak(int device) {
  DeviceHeap* heap = heap_if_used(device);
  if (!heap) return;
  StackLock lock(heap->stack);
  for_each_counter(heap->counters, [](PoolCounters::Counter& counter) { counter.peak = counter.current; });
}

void reset_accumulated(int device) {
  DeviceHeap* heap = heap_if_used(device);
  if (!heap) return;
  StackLock lock(heap->stack);
  HeapStatistics& counters = heap->counters;
  for_each_counter(counters, [](PoolCounters::Counter& counter) { counter.allocated = counter.freed = 0; });
  counters.num_alloc_retries = counters.num_ooms = counters.num_device_alloc = counters.num_device_free = 0;
}

void memory_info(int device, size_t& free_bytes, size_t& total_bytes) {
  free_bytes = total_bytes = topology().stack_bytes;
  DeviceHeap* heap = heap_if_used(device);
  if (!heap) return;
  StackLock lock(heap->stack);
  free_bytes = heap->stack.left();
}

void lock_all() {
  first_use.lock();
  if (State* used = state_if_used()) {
    for (Stack& stack : used->stacks) stack.mutex.lock();
  }
}

void unlock_all() {
  if (State* used = state_if_used()) {
    for (Stack& stack : used->stacks) stack.mutex.unlock();
  }
  first_use.unlock();
}

}  // namespace heap
}  // namespace neuron::device
