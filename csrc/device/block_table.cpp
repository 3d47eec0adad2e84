#include "block_table.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace neuron::device {
namespace {

constexpr size_t kBytesPerEntry = sizeof(std::atomic<Block*>);
// The entries of one aligned piece of the view fill whole pages, also where pages are 64 KiB.
static_assert(kSegmentAlignment / kGranule * kBytesPerEntry % (size_t{64} << 10) == 0);
static_assert(std::atomic<Block*>::is_always_lock_free, "zeroed pages must read as empty entries");

}  // namespace

void BlockTable::reserve() {
  if (entries_) return;
  const size_t bytes = AddressSpace::total_bytes() / kGranule * kBytesPerEntry;
  // Readable everywhere, so that a look-up of any address is safe; writable only where a segment lies, so that a limit
  // on data (ulimit -d) or strict overcommit does not see the whole.
  void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::runtime_error(
        "cannot reserve " + std::to_string(bytes >> 20) +
        " MiB of address space for the table of neuron memory blocks (mmap: " + std::strerror(errno) +
        "). Lift the limit on address space (ulimit -v unlimited), or simulate fewer devices "
        "(TORCH_NEURON_SIM_DEVICES).");
  }
  madvise(mapping, bytes, MADV_NOHUGEPAGE);  // sparse; advice only
  entries_ = static_cast<Entry*>(mapping);
}

void BlockTable::prepare(char* view_address, size_t bytes) {
  if (mprotect(&entry(view_address), bytes / kGranule * kBytesPerEntry, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error(std::string("the host refuses memory for the table of neuron memory blocks (mprotect: ") +
                             std::strerror(errno) +
                             "). Free host memory, or raise the limit it meets (ulimit -d, vm.overcommit_memory, "
                             "vm.max_map_count).");
  }
}

void BlockTable::discard(char* view_address, size_t bytes) {
  // Every entry of the range was cleared when its block dissolved, so a refusal costs pages, not correctness.
  madvise(&entry(view_address), bytes / kGranule * kBytesPerEntry, MADV_DONTNEED);
}

}  // namespace neuron::device
