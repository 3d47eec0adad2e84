#include "pool.h"

#include "block_table.h"

namespace neuron::device {
namespace {

constexpr size_t kBlocksPerChunk = 256;

// `left` takes over the bytes of `right`, its upper neighbour.
void absorb(Block* left, Block* right, BlockStore& store, ReleasedOwners& released) {
  dissolve(left, released);
  dissolve(right, released);
  left->size += right->size;
  left->next = right->next;
  if (left->next) left->next->previous = left;
  store.put(right);
}

}  // namespace

Block* BlockStore::get() {
  if (!unused_) {
    chunks_.push_back(std::make_unique<Block[]>(kBlocksPerChunk));
    for (size_t i = kBlocksPerChunk; i-- > 0;) put(&chunks_.back()[i]);
  }
  Block* block = unused_;
  unused_ = block->link;
  return block;
}

void dissolve(Block* block, ReleasedOwners& released) {
  BlockTable::clear(block->view);
  if (void* owner = block->owner.exchange(nullptr, std::memory_order_acq_rel)) released.push_back(owner);
}

Block* Pool::take_best_fit(size_t bytes, BlockStore& store, ReleasedOwners& released) {
  const auto found = free_.lower_bound(bytes);
  if (found == free_.end()) return nullptr;
  Block* block = *found;
  free_.erase(found);
  block->state = Block::State::kUsed;
  if (block->size > bytes) {
    dissolve(block, released);
    Block* rest = store.get();
    rest->view = block->view + bytes;
    rest->size = block->size - bytes;
    rest->segment = block->segment;
    rest->device = block->device;
    rest->pool = block->pool;
    rest->state = Block::State::kFree;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next) rest->next->previous = rest;
    block->next = rest;
    block->size = bytes;
    free_.insert(rest);
  }
  return block;
}

void Pool::give_back(Block* block, BlockStore& store, ReleasedOwners& released) {
  block->state = Block::State::kFree;
  if (Block* left = block->previous; left && left->state == Block::State::kFree) {
    free_.erase(left);
    absorb(left, block, store, released);
    block = left;
  }
  if (Block* right = block->next; right && right->state == Block::State::kFree) {
    free_.erase(right);
    absorb(block, right, store, released);
  }
  free_.insert(block);
}

bool Pool::merge_quick(BlockStore& store, ReleasedOwners& released) {
  bool any = false;
  for (Block*& head : quick_) {
    while (head) {
      Block* block = head;
      head = block->link;
      give_back(block, store, released);
      any = true;
    }
  }
  return any;
}

}  // namespace neuron::device
