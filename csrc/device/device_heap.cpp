#include "device_heap.h"

#include <algorithm>

#include "address_space.h"
#include "block_table.h"

namespace neuron::device {

void Stack::release_cached(ReleasedOwners& released) {
  for (DeviceHeap* heap : devices) heap->release_cached(/*host_too=*/false, released);
}

void DeviceHeap::reserve(uint8_t pool, size_t bytes) {
  stack.reserved += bytes;
  counters.all.reserved_bytes.increase(static_cast<int64_t>(bytes));
  pool_counters(pool).reserved_bytes.increase(static_cast<int64_t>(bytes));
}

void DeviceHeap::unreserve(uint8_t pool, size_t bytes) {
  stack.reserved -= bytes;
  counters.all.reserved_bytes.decrease(static_cast<int64_t>(bytes));
  pool_counters(pool).reserved_bytes.decrease(static_cast<int64_t>(bytes));
}

Block* DeviceHeap::take_slowly(uint8_t pool_index, const BlockSize& size, ReleasedOwners& released) {
  Pool& pool = pools_[pool_index];
  Block* block = pool.take_best_fit(size.bytes, stack.blocks, released);
  if (!block && pool.merge_quick(stack.blocks, released)) {
    block = pool.take_best_fit(size.bytes, stack.blocks, released);
  }
  if (!block && grow(pool_index, size, released)) block = pool.take_best_fit(size.bytes, stack.blocks, released);
  if (!block) return nullptr;
  block->size_class = size.size_class;
  BlockTable::set(block->view, block);
  return block;
}

bool DeviceHeap::grow(uint8_t pool, const BlockSize& size, ReleasedOwners& released) {
  if (size.bytes > AddressSpace::span_bytes()) return false;
  const size_t preferred = segment_bytes_for(size, is_large(pool));
  if (is_host(pool)) return add_segment(pool, preferred, released);
  if (size.bytes > stack.capacity) return false;  // hopeless: leave the caches alone
  size_t bytes = preferred;
  if (bytes > stack.left()) {
    ++counters.num_alloc_retries;
    stack.release_cached(released);
  }
  if (bytes > stack.left()) {
    // The last of the stack. A large block takes no more than it needs of it. Small ones share it: a segment for each
    // would be wasteful.
    bytes = is_large(pool) ? size.bytes : align_down(stack.left(), kGranule);
    if (bytes < size.bytes || bytes > stack.left()) return false;
  }
  return add_segment(pool, bytes, released);
}

bool DeviceHeap::add_segment(uint8_t pool, size_t bytes, ReleasedOwners& released) {
  const size_t range = align_up(bytes, kSegmentAlignment);
  size_t offset = ranges_.take(range);
  if (offset == AddressRanges::kNone) {
    release_cached(/*host_too=*/true, released);
    offset = ranges_.take(range);
    if (offset == AddressRanges::kNone) return false;
  }
  try {
    segments_.push_back(std::make_unique<Segment>(AddressSpace::view_of_device(index_) + offset, bytes, range, pool));
  } catch (...) {
    ranges_.give(offset, range);
    throw;
  }
  Segment& segment = *segments_.back();
  Block* block = stack.blocks.get();
  block->view = segment.view;
  block->size = bytes;
  block->segment = &segment;
  block->previous = nullptr;
  block->next = nullptr;
  block->device = static_cast<int16_t>(index_);
  block->pool = pool;
  segment.first = block;
  pools_[pool].give_back(block, stack.blocks, released);
  if (!is_host(pool)) {
    reserve(pool, bytes);
    counters.all.segments.increase(1);
    pool_counters(pool).segments.increase(1);
    ++counters.num_device_alloc;
  }
  return true;
}

void DeviceHeap::remove_segment(Segment& segment, ReleasedOwners& released) {
  segment.release();  // first: when the host refuses, nothing has changed
  pools_[segment.pool].remove(segment.first);
  dissolve(segment.first, released);
  stack.blocks.put(segment.first);
  ranges_.give(static_cast<size_t>(segment.view - AddressSpace::view_of_device(index_)), segment.range);
  if (!is_host(segment.pool)) {
    unreserve(segment.pool, segment.bytes);
    counters.all.segments.decrease(1);
    pool_counters(segment.pool).segments.decrease(1);
    ++counters.num_device_free;
  }
}

void DeviceHeap::release_cached(bool host_too, ReleasedOwners& released) {
  for (uint8_t pool = 0; pool < kPools; ++pool) {
    if (host_too || !is_host(pool)) pools_[pool].merge_quick(stack.blocks, released);
  }
  for (size_t i = segments_.size(); i-- > 0;) {
    Segment& segment = *segments_[i];
    if (!segment.wholly_free() || (is_host(segment.pool) && !host_too)) continue;
    remove_segment(segment, released);
    std::swap(segments_[i], segments_.back());
    segments_.pop_back();
  }
}

bool DeviceHeap::adopt(const Block& block, ReleasedOwners& released) {
  if (block.size > stack.left()) {
    if (block.size > stack.capacity) return false;
    ++counters.num_alloc_retries;
    stack.release_cached(released);
    if (block.size > stack.left()) return false;
  }
  reserve(block.pool, block.size);
  return true;
}

OutOfMemory DeviceHeap::out_of_memory(size_t requested) {
  ++counters.num_ooms;
  OutOfMemory oom{};
  oom.device = index_;
  oom.stack = stack.index;
  oom.requested = requested;
  oom.capacity = stack.capacity;
  for (const DeviceHeap* heap : stack.devices) {
    oom.allocated += static_cast<size_t>(heap->counters.all.allocated_bytes.current);
    oom.scratch += static_cast<size_t>(heap->counters.scratch_bytes.current);
  }
  oom.cached = stack.reserved - oom.allocated - oom.scratch;
  return oom;
}

// Free blocks between used ones are counted when somebody asks: keeping count of every split and merge would burden the
// fast path.
HeapStatistics DeviceHeap::statistics() {
  int64_t bytes[2] = {}, blocks[2] = {};  // small pool, large pool
  for (const auto& segment : segments_) {
    if (is_host(segment->pool)) continue;
    int64_t free_bytes = 0, free_blocks = 0;
    bool used = false;
    for (const Block* block = segment->first; block; block = block->next) {
      if (block->state == Block::State::kUsed) {
        used = true;
      } else {
        free_bytes += static_cast<int64_t>(block->size);
        ++free_blocks;
      }
    }
    if (!used) continue;
    bytes[is_large(segment->pool)] += free_bytes;
    blocks[is_large(segment->pool)] += free_blocks;
  }
  PoolCounters* pools[] = {&counters.small_pool, &counters.large_pool, &counters.all};
  for (int i = 0; i < 3; ++i) {
    pools[i]->inactive_split_bytes.set(i < 2 ? bytes[i] : bytes[0] + bytes[1]);
    pools[i]->inactive_splits.set(i < 2 ? blocks[i] : blocks[0] + blocks[1]);
  }
  return counters;
}

}  // namespace neuron::device
