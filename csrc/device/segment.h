// Segments: the pieces of kernel view that pools cut blocks from, and the addresses they lie at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "heap.h"

namespace neuron::device {

// Free address ranges of one device, first fit. Grows with the number of holes, not with the address space.
class AddressRanges {
 public:
  explicit AddressRanges(size_t span_bytes) { free_.emplace(0, span_bytes); }
  // Offset of a range of exactly `bytes`; kNone when no hole is large enough.
  static constexpr size_t kNone = SIZE_MAX;
  size_t take(size_t bytes);
  void give(size_t offset, size_t bytes);

 private:
  std::map<size_t, size_t> free_;  // offset -> bytes; neighbours are merged
};

// Backed memory for as long as the object lives.
struct Segment {
  // Takes over the addresses [view, view + range). `bytes` of them are backed and counted.
  // Throws std::runtime_error when the host refuses.
  Segment(char* view, size_t bytes, size_t range, uint8_t pool);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Gives the pages back. Throws std::runtime_error when the host refuses, and changes nothing then.
  void release();
  bool wholly_free() const { return first->state == Block::State::kFree && !first->next; }

  char* view;
  size_t bytes;  // multiple of kGranule
  size_t range;  // multiple of kSegmentAlignment
  uint8_t pool;
  Block* first = nullptr;  // stays the same object: a block that is split or merged keeps its lower end
};

}  // namespace neuron::device
