// How a request becomes a block size, and which sizes segments have.
//
// From the Neuron docs (torch/reference/guidelines-memory-management, release 2.33): requests below 1 MB use the small
// pool, the others the large pool; below 16 MB they are rounded up to a size class of at least 256 bytes, from 16 MB on
// they are not rounded. The docs give neither the spacing of the classes nor segment sizes: those are ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace neuron::device {

constexpr size_t kGranule = 256;                        // every block starts at and spans a multiple of this
constexpr size_t kSmallRequest = size_t{1} << 20;       // requests below it use the small pool
constexpr size_t kUnclassedRequest = size_t{16} << 20;  // requests from here on have no class
constexpr size_t kSmallSegment = size_t{2} << 20;       // ours
constexpr size_t kLargeSegment = size_t{32} << 20;      // ours: two blocks of the largest class
constexpr size_t kSegmentAlignment = size_t{2} << 20;   // ours: the size of a huge page

// Ours: eight classes for each power of two, so a block is at most 1/8 larger than its request (above 2 KiB).
constexpr size_t kSizeClasses = 112;
constexpr uint16_t kNoClass = UINT16_MAX;

constexpr size_t align_up(size_t n, size_t alignment) { return (n + alignment - 1) / alignment * alignment; }
constexpr size_t align_down(size_t n, size_t alignment) { return n / alignment * alignment; }

struct BlockSize {
  size_t bytes;
  uint16_t size_class;  // kNoClass from kUnclassedRequest on
};

// Precondition: nbytes > 0. A request too large to be aligned yields a size that no device can hold.
constexpr BlockSize block_size_for(size_t nbytes) {
  if (nbytes >= kUnclassedRequest) {
    if (nbytes > SIZE_MAX - kGranule) return {SIZE_MAX - kGranule + 1, kNoClass};
    return {align_up(nbytes, kGranule), kNoClass};
  }
  const size_t granules = (nbytes + kGranule - 1) / kGranule;
  if (granules <= 8) return {granules * kGranule, static_cast<uint16_t>(granules - 1)};
  // granules lies in (8 << shift, 16 << shift]; its class is the multiple of 1 << shift at or above it.
  const int shift = std::bit_width(granules - 1) - 4;
  const size_t steps = ((granules - 1) >> shift) + 1;  // 9 to 16
  return {(steps << shift) * kGranule, static_cast<uint16_t>(8 * shift + static_cast<int>(steps) - 1)};
}

static_assert(block_size_for(1).bytes == kGranule && block_size_for(1).size_class == 0);
static_assert(block_size_for(2048).size_class == 7 && block_size_for(2049).size_class == 8);
static_assert(block_size_for(4097).bytes == 4608 && block_size_for(4097).size_class == 16);
static_assert(block_size_for(kUnclassedRequest - 1).bytes == kUnclassedRequest);
static_assert(block_size_for(kUnclassedRequest - 1).size_class == kSizeClasses - 1);

// Size of a fresh segment for a block of that size: preferred, where the stack has room for it.
constexpr size_t segment_bytes_for(const BlockSize& size, bool large) {
  if (!large) return kSmallSegment;
  return size.size_class == kNoClass ? align_up(size.bytes, kSegmentAlignment) : kLargeSegment;
}

}  // namespace neuron::device
