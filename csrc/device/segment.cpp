#include "segment.h"

#include <iterator>

#include "address_space.h"
#include "block_table.h"
#include "pool.h"
#include "size_class.h"

namespace neuron::device {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

size_t AddressRanges::take(size_t bytes) {
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const auto [offset, size] = *hole;
    if (size < bytes) continue;
    // The rest of the hole keeps its node: only its start moves.
    auto node = free_.extract(hole);
    if (size > bytes) {
      node.key() = offset + bytes;
      node.mapped() = size - bytes;
      free_.insert(std::move(node));
    }
    return offset;
  }
  return kNone;
}

void AddressRanges::give(size_t offset, size_t bytes) {
  auto hole = free_.emplace(offset, bytes).first;
  const auto next = std::next(hole);
  if (next != free_.end() && next->first == offset + bytes) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole == free_.begin()) return;
  const auto previous = std::prev(hole);
  if (previous->first + previous->second == offset) {
    previous->second += hole->second;
    free_.erase(hole);
  }
}

Segment::Segment(char* view, size_t bytes, size_t range, uint8_t pool)
    : view(view), bytes(bytes), range(range), pool(pool) {
  BlockTable::prepare(view, range);
  // Huge pages only where a segment is made for large blocks and fills at least one.
  AddressSpace::commit(view, align_up(bytes, kPage), is_large(pool) && bytes >= kSegmentAlignment);
}

void Segment::release() {
  AddressSpace::decommit(view, align_up(bytes, kPage));
  BlockTable::discard(view, range);
}

}  // namespace neuron::device
