// One pool of a device: its unused blocks, found by size. Cuts and merges blocks within their segments.
// Everything here is called with the stack's mutex held.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "heap.h"
#include "size_class.h"

namespace neuron::device {

// A device has four pools: small and large, each for device memory and for the host memory of fallbacks.
constexpr uint8_t kPools = 4;
constexpr uint8_t pool_index(size_t nbytes, Charge charge) {
  return static_cast<uint8_t>((nbytes >= kSmallRequest ? 1 : 0) | (charge == Charge::kHost ? 2 : 0));
}
constexpr bool is_large(uint8_t pool) { return pool & 1; }
constexpr bool is_host(uint8_t pool) { return pool & 2; }

// Owners of dissolved blocks. They are released after the mutex is: an owner may come back to the heap.
using ReleasedOwners = std::vector<void*>;

// Block objects, reused instead of deleted. A used block's address never changes.
class BlockStore {
 public:
  Block* get();
  void put(Block* block) {
    block->link = unused_;
    unused_ = block;
  }

 private:
  Block* unused_ = nullptr;
  std::vector<std::unique_ptr<Block[]>> chunks_;
};

// Ends a block's identity: its address and size no longer belong together.
void dissolve(Block* block, ReleasedOwners& released);

class Pool {
 public:
  // Quick lists: last in, first out, by class; these blocks are not merged, so they keep their owner.
  Block* pop_quick(uint16_t size_class) {
    Block* block = quick_[size_class];
    if (block) quick_[size_class] = block->link;
    return block;
  }
  void push_quick(Block* block) {
    block->state = Block::State::kQuick;
    block->link = quick_[block->size_class];
    quick_[block->size_class] = block;
  }

  // The smallest free block of at least `bytes` (lowest address among equals), cut to that size and marked used;
  // nullptr when there is none.
  Block* take_best_fit(size_t bytes, BlockStore& store, ReleasedOwners& released);
  // Makes a block free, merged with the free blocks beside it.
  void give_back(Block* block, BlockStore& store, ReleasedOwners& released);
  // Gives back every block of the quick lists. False when there was none.
  bool merge_quick(BlockStore& store, ReleasedOwners& released);
  // Forgets a free block whose segment goes away.
  void remove(Block* block) { free_.erase(block); }

 private:
  struct BySize {
    using is_transparent = void;
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->view < b->view;
    }
    bool operator()(const Block* a, size_t bytes) const { return a->size < bytes; }
    bool operator()(size_t bytes, const Block* b) const { return bytes < b->size; }
  };

  std::array<Block*, kSizeClasses> quick_{};
  std::set<Block*, BySize> free_;
};

}  // namespace neuron::device
