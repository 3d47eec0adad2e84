#include "launch/storage_alias.h"

#include <cstring>

#include "backend/allocator.h"

namespace neuron::launch {

using backend::free_block;
using backend::free_cpu;
using c10::intrusive_ptr;
using c10::StorageImpl;
using device::AddressSpace;
using device::Block;

namespace {

const c10::Device kCpu(c10::DeviceType::CPU);

// Deleter of pointers that do not own what they point to.
void keep(void*) {}
// Deleter of an alias over memory that is not one of our blocks: it holds on to the neuron storage.
void release_storage(void* context) { delete static_cast<c10::Storage*>(context); }

intrusive_ptr<StorageImpl> make_cpu_storage(c10::DataPtr data, size_t nbytes, bool resizable) {
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), nbytes, std::move(data),
                                          backend::cpu_allocator(), resizable);
}

c10::DataPtr non_owning(Block* block) { return {block->view, block, &keep, kCpu}; }

void release_owner(void* owner) { c10::raw::intrusive_ptr::decref(static_cast<StorageImpl*>(owner)); }

// A kernel kept the alias: the memory now lives as long as that.
bool retain_for_alias(Block* block) {
  auto* alias = static_cast<StorageImpl*>(block->owner.load(std::memory_order_acquire));
  if (C10_LIKELY(c10::raw::intrusive_ptr::use_count(alias) == 1)) return false;
  block->owner.store(nullptr, std::memory_order_release);
  alias->set_data_ptr_noswap({block->view, block->view, &free_cpu, kCpu});
  release_owner(alias);
  return true;
}

StorageImpl* alias_of_block(Block* block, size_t nbytes, bool resizable) {
  void* found = block->owner.load(std::memory_order_acquire);
  if (C10_UNLIKELY(!found)) {
    StorageImpl* made = make_cpu_storage(non_owning(block), nbytes, resizable).release();
    if (block->owner.compare_exchange_strong(found, made)) {
      found = made;
    } else {  // another thread was first
      release_owner(made);
    }
  }
  auto* alias = static_cast<StorageImpl*>(found);
  if (C10_UNLIKELY(alias->nbytes() != nbytes)) alias->unsafe_set_nbytes(nbytes);
  if (C10_UNLIKELY(alias->resizable() != resizable)) alias->set_resizable(resizable);
  return alias;
}

}  // namespace

c10::Storage storage_alias(StorageImpl* storage) {
  const c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  if (C10_LIKELY(data.get_deleter() == &free_block && data.get_context())) {
    auto* block = static_cast<Block*>(data.get_context());
    return c10::Storage(
        intrusive_ptr<StorageImpl>::reclaim_copy(alias_of_block(block, storage->nbytes(), storage->resizable())));
  }
  // Empty, or memory that came from outside (DLPack, from_blob): an alias for this one call.
  void* pointer = data.get();
  if (AddressSpace::in_device_range(pointer)) pointer = AddressSpace::to_kernel_view(pointer);
  auto* owner = new c10::Storage(intrusive_ptr<StorageImpl>::reclaim_copy(storage));
  return c10::Storage(
      make_cpu_storage({pointer, owner, &release_storage, kCpu}, storage->nbytes(), storage->resizable()));
}

bool owns_device_memory(const c10::DataPtr& data) {
  return data.get_deleter() == &free_cpu && (!data.get() || AddressSpace::in_kernel_view(data.get()));
}

c10::DataPtr take_device_memory(c10::DataPtr& data, int device) {
  const c10::Device where(backend::kNeuron, static_cast<c10::DeviceIndex>(device));
  if (C10_UNLIKELY(!data.get())) return {nullptr, nullptr, &free_block, where};
  Block* block = device::heap::block_at(data.get());
  backend::charge_to_tensor(block);
  data.release_context();
  return {AddressSpace::to_device(block->view), block, &free_block, where};
}

void reset_alias(StorageImpl* storage) {
  const c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  if (data.get_deleter() != &free_block || !data.get_context()) return;
  auto* block = static_cast<Block*>(data.get_context());
  auto* alias = static_cast<StorageImpl*>(block->owner.load(std::memory_order_acquire));
  if (!alias || alias->data() == block->view) return;
  alias->set_data_ptr_noswap(non_owning(block));
  alias->unsafe_set_nbytes(storage->nbytes());
}

c10::Storage adopt_storage(StorageImpl* cpu, int device) {
  const size_t nbytes = cpu->nbytes();
  c10::DataPtr data;
  if (owns_device_memory(cpu->_mutable_data_ptr_no_checks())) {
    data = take_device_memory(cpu->_mutable_data_ptr_no_checks(), device);
    if (auto* block = static_cast<Block*>(data.get_context())) {
      cpu->set_data_ptr_noswap(non_owning(block));
      void* none = nullptr;
      StorageImpl* alias = intrusive_ptr<StorageImpl>::reclaim_copy(cpu).release();
      if (!block->owner.compare_exchange_strong(none, alias)) release_owner(alias);
    }
  } else {
    data = backend::allocate_on(device, nbytes);
    if (nbytes > 0) {
      backend::check_host_memory(AddressSpace::to_kernel_view(data.get()), nbytes);
      std::memcpy(AddressSpace::to_kernel_view(data.get()), cpu->data(), nbytes);
    }
  }
  return c10::Storage(c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), nbytes, std::move(data),
                                                       backend::device_allocator(), /*resizable=*/true));
}

void install_alias_hooks() {
  device::heap::set_owner_release(&release_owner);
  backend::set_retention_hook(&retain_for_alias);
}

}  // namespace neuron::launch
