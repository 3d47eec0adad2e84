#include "backend/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <cstring>

#include "backend/out_of_memory.h"
#include "device/topology.h"

namespace neuron::backend {

using device::AddressSpace;
using device::Block;
using device::Charge;

thread_local Placement placement NEURON_TLS;

namespace {

bool (*retention_hook)(Block*) = nullptr;

c10::CachingAllocator::Stat to_stat(const device::PoolCounters::Counter& counter) {
  c10::CachingAllocator::Stat stat;
  stat.current = counter.current;
  stat.peak = counter.peak;
  stat.allocated = counter.allocated;
  stat.freed = counter.freed;
  return stat;
}

class NeuronAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t nbytes) override {
    return allocate_on(placement.device >= 0 ? placement.device : current_device_index, nbytes);
  }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    check_host_memory(AddressSpace::to_kernel_view(destination), count);
    std::memcpy(AddressSpace::to_kernel_view(destination), AddressSpace::to_kernel_view(source), count);
  }
  bool initialized() override { return is_started(); }
  void emptyCache(c10::MempoolId_t) override {
    if (!is_started()) return;
    for (int device = 0; device < device_count(); ++device) device::heap::empty_cache(device);
  }
  // Values are computed at the call, so no block is ever still in use by another stream when it is freed.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    check_device_index(device);
    const device::HeapStatistics heap = device::heap::statistics(device);
    c10::CachingDeviceAllocator::DeviceStats stats;
    const device::PoolCounters* pools[] = {&heap.all, &heap.small_pool, &heap.large_pool};
    for (size_t i = 0; i < 3; ++i) {
      const device::PoolCounters& pool = *pools[i];
      stats.allocation[i] = stats.active[i] = to_stat(pool.allocations);
      stats.allocated_bytes[i] = stats.active_bytes[i] = to_stat(pool.allocated_bytes);
      stats.requested_bytes[i] = to_stat(pool.requested_bytes);
      stats.reserved_bytes[i] = to_stat(pool.reserved_bytes);
      stats.segment[i] = to_stat(pool.segments);
      stats.inactive_split[i] = to_stat(pool.inactive_splits);
      stats.inactive_split_bytes[i] = to_stat(pool.inactive_split_bytes);
    }
    stats.num_alloc_retries = heap.num_alloc_retries;
    stats.num_ooms = heap.num_ooms;
    stats.num_device_alloc = heap.num_device_alloc;
    stats.num_device_free = heap.num_device_free;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    check_device_index(device);
    device::heap::reset_accumulated(device);
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    check_device_index(device);
    device::heap::reset_peak(device);
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    check_device_index(device);
    size_t free_bytes = 0, total_bytes = 0;
    device::heap::memory_info(device, free_bytes, total_bytes);
    return {free_bytes, total_bytes};
  }
};

class CpuAllocatorSwitch final : public c10::Allocator {
 public:
  explicit CpuAllocatorSwitch(c10::Allocator* base) : base_(base), base_deleter_(base->raw_deleter()) {}

  c10::DataPtr allocate(size_t nbytes) override {
    if (C10_LIKELY(placement.device < 0)) return base_->allocate(nbytes);
    const c10::Device cpu(c10::DeviceType::CPU);
    if (nbytes == 0) return {nullptr, nullptr, &free_cpu, cpu};
    Block* block = allocate_block(placement.device, nbytes, placement.charge);
    c10::DataPtr data(block->view, block->view, &free_cpu, cpu);
    check_host_memory(block->view, nbytes);  // a kernel asks for memory to fill it
    return data;
  }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return data.get_context() == data.get(); }
  c10::DeleterFnPtr raw_deleter() const override { return &free_cpu; }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    base_->copy_data(destination, source, count);
  }
  void free_base(void* data) const { base_deleter_(data); }

 private:
  c10::Allocator* base_;
  c10::DeleterFnPtr base_deleter_;
};

CpuAllocatorSwitch& cpu_switch() {
  // Leaked: tensors are freed during interpreter shutdown, after static destructors may have run.
  static auto* instance = new CpuAllocatorSwitch(c10::GetCPUAllocator());
  return *instance;
}

NeuronAllocator& neuron_allocator() {
  static auto* instance = new NeuronAllocator;
  return *instance;
}

// c10 looks both allocators up in tables that are filled while the library loads.
const bool registered = [] {
  c10::SetAllocator(kNeuron, &neuron_allocator(), /*priority=*/1);
  c10::SetCPUAllocator(&cpu_switch(), /*priority=*/1);
  return true;
}();

}  // namespace

c10::DeviceAllocator* device_allocator() { return &neuron_allocator(); }
c10::Allocator* cpu_allocator() { return &cpu_switch(); }
void set_retention_hook(bool (*hook)(Block*)) { retention_hook = hook; }

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  if (block->owner.load(std::memory_order_relaxed) && retention_hook(block)) return;
  device::heap::free(block);
}

void free_cpu(void* data) {
  if (AddressSpace::in_kernel_view(data)) {
    free_block(device::heap::block_at(data));
  } else {
    cpu_switch().free_base(data);
  }
}

Block* allocate_block(int device, size_t nbytes, Charge charge) {
  device::OutOfMemory oom;
  Block* block = device::heap::allocate(device, nbytes, charge, oom);
  if (C10_UNLIKELY(!block)) throw_out_of_memory(oom);
  return block;
}

void charge_to_tensor(Block* block) {
  device::OutOfMemory oom;
  if (C10_UNLIKELY(!device::heap::charge_to_tensor(block, oom))) throw_out_of_memory(oom);
}

c10::DataPtr allocate_on(int device, size_t nbytes) {
  ensure_started();
  const c10::Device where(kNeuron, static_cast<c10::DeviceIndex>(device));
  if (nbytes == 0) return {nullptr, nullptr, &free_block, where};
  Block* block = allocate_block(device, nbytes, Charge::kTensor);
  return {AddressSpace::to_device(block->view), block, &free_block, where};
}

void resize_storage(c10::StorageImpl* storage, size_t nbytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  c10::DataPtr data = allocate_on(storage->device().index(), nbytes);
  const size_t kept = std::min(nbytes, storage->nbytes());
  if (kept > 0 && storage->data()) {
    check_host_memory(AddressSpace::to_kernel_view(data.get()), kept);
    std::memcpy(AddressSpace::to_kernel_view(data.get()), AddressSpace::to_kernel_view(storage->data()), kept);
  }
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(nbytes);
}

void check_host_memory_slow(const void* view, size_t nbytes) {
  size_t available = device::host_available_bytes();
  if (nbytes <= available) return;
  const size_t needed = nbytes - device::resident_bytes(view, nbytes);
  if (needed <= available) return;
  device_allocator()->emptyCache();
  available = device::host_available_bytes();
  TORCH_CHECK(needed <= available, "The host cannot back this write to simulated neuron memory: ", nbytes,
              " bytes are about to be written, ", needed, " of them for the first time, and ", available,
              " bytes are available on the host (free memory or cgroup limit). Untouched device memory is free; use a "
              "smaller model or batch, or a host with more memory");
}

}  // namespace neuron::backend
