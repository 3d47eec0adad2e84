#include "backend/pinned_memory.h"

#include <c10/core/CPUAllocator.h>

#include <map>
#include <mutex>

#include "backend/runtime.h"

namespace neuron::backend {
namespace {

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t nbytes) override {
    auto* owned = new c10::DataPtr(c10::GetDefaultCPUAllocator()->allocate(nbytes));
    if (nbytes > 0) insert(owned->get(), nbytes);
    return {owned->get(), owned, &PinnedAllocator::release, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    default_copy_data(destination, source, count);
  }
  // Copies finish at the call, and nothing is cached.
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  void reset_accumulated_stats() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.allocations.reset_accumulated();
    stats_.allocated_bytes.reset_accumulated();
  }
  void reset_peak_stats() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.allocations.reset_peak();
    stats_.allocated_bytes.reset_peak();
  }
  bool contains(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto after = ranges_.upper_bound(static_cast<const char*>(pointer));
    if (after == ranges_.begin()) return false;
    const auto& [begin, nbytes] = *std::prev(after);
    return static_cast<const char*>(pointer) < begin + nbytes;
  }
  static PinnedAllocator& instance();

 private:
  static void release(void* context) {
    auto* owned = static_cast<c10::DataPtr*>(context);
    if (owned->get()) instance().erase(owned->get());
    delete owned;
  }
  void insert(const void* pointer, size_t nbytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_[static_cast<const char*>(pointer)] = nbytes;
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(nbytes);
    ++stats_.num_host_alloc;
  }
  void erase(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = ranges_.find(static_cast<const char*>(pointer));
    stats_.allocations.decrease(1);
    stats_.allocated_bytes.decrease(found->second);
    ++stats_.num_host_free;
    ranges_.erase(found);
  }

  std::mutex mutex_;
  std::map<const char*, size_t> ranges_;
  at::HostStats stats_;
};

PinnedAllocator& PinnedAllocator::instance() {
  static auto* allocator = new PinnedAllocator;
  return *allocator;
}

const bool registered = [] {
  at::setHostAllocator(kNeuron, &PinnedAllocator::instance(), /*priority=*/1);
  return true;
}();

}  // namespace

at::HostAllocator* pinned_allocator() { return &PinnedAllocator::instance(); }
bool is_pinned(const void* pointer) { return PinnedAllocator::instance().contains(pointer); }

}  // namespace neuron::backend
