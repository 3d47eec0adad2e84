// The device allocator that PyTorch sees, and the CPU-allocator switch that places what a CPU kernel allocates straight
// into device memory.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>

#include "backend/runtime.h"
#include "device/address_space.h"
#include "device/heap.h"
#include "device/host_memory.h"

namespace neuron::backend {

c10::DeviceAllocator* device_allocator();
c10::Allocator* cpu_allocator();

// Deleter of a neuron storage's DataPtr; its context is the Block.
void free_block(void* context);
// Deleter of everything cpu_allocator() hands out. Its context is the data pointer itself, which c10's
// raw_allocate/raw_deallocate users rely on.
void free_cpu(void* data);

// Memory of `nbytes` on `device`; throws torch.OutOfMemoryError.
c10::DataPtr allocate_on(int device, size_t nbytes);
device::Block* allocate_block(int device, size_t nbytes, device::Charge charge);
// Makes scratch that a kernel returned count as tensor memory; throws torch.OutOfMemoryError.
void charge_to_tensor(device::Block* block);
// Resizes a neuron storage, keeping the leading bytes.
void resize_storage(c10::StorageImpl* storage, size_t nbytes);

// Refuses (RuntimeError) a write of `nbytes` to a kernel-view address that the host could not back. Small writes are
// not looked at.
void check_host_memory_slow(const void* view, size_t nbytes);
inline void check_host_memory(const void* view, size_t nbytes) {
  if (C10_UNLIKELY(nbytes >= device::kHostCheckBytes)) check_host_memory_slow(view, nbytes);
}

// Asked when a block's storage lets go of it; true means: somebody else keeps the memory, do not free it.
void set_retention_hook(bool (*hook)(device::Block*));

// What the CPU allocator of this thread does at the moment: -1 is ordinary host memory.
struct Placement {
  int device = -1;
  device::Charge charge = device::Charge::kScratch;
};
extern thread_local Placement placement NEURON_TLS;

class PlacementGuard {
 public:
  PlacementGuard() : saved_(placement) {}
  explicit PlacementGuard(Placement next) : saved_(placement) { placement = next; }
  PlacementGuard(const PlacementGuard&) = delete;
  PlacementGuard& operator=(const PlacementGuard&) = delete;
  ~PlacementGuard() { placement = saved_; }

 private:
  Placement saved_;
};

}  // namespace neuron::backend
