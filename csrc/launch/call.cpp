// The cases that a call meets rarely.
#include "launch/call.h"

#include <cstring>

#include "launch/check.h"
#include "launch/nested.h"

namespace neuron::launch {

at::Tensor Call::original_of(const c10::TensorImpl* alias) const {
  for (const Argument& argument : arguments_) {
    if (argument.alias == alias) {
      return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(argument.original));
    }
  }
  return {};
}

// The neuron storage over the bytes of `cpu`: an argument's, one made earlier in this call, or a new one.
c10::Storage Call::neuron_storage_of(c10::StorageImpl* cpu) {
  for (const Argument& argument : arguments_) {
    if (argument.storage == cpu) return TensorAccess::of(argument.original)->storage_field();
  }
  for (const auto& [seen, made] : shared_) {
    if (seen.unsafeGetStorageImpl() == cpu) return made;
  }
  c10::Storage made = adopt_storage(cpu, device_);
  shared_.emplace_back(c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(cpu)), made);
  return made;
}

at::Tensor Call::alias_slow(const at::Tensor& original) {
  c10::TensorImpl* impl = original.unsafeGetTensorImpl();
  if (!is_on_neuron(impl) || !is_nested(impl)) return original;
  c10::Storage storage = storage_alias(TensorAccess::of(impl)->storage_impl());
  c10::StorageImpl* storage_impl = storage.unsafeGetStorageImpl();
  at::Tensor alias = nested_alias(impl, std::move(storage));
  arguments_.push_back({impl, alias.unsafeGetTensorImpl(), storage_impl});
  return alias;
}

at::Tensor Call::adopt_slow(at::Tensor&& result) {
  if (!result.defined()) {
    if (watched_) watched_->output(nullptr);
    return std::move(result);
  }
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  if (at::Tensor original = original_of(impl); original.defined()) return original;
  if (device_ < 0 || !impl->is_cpu()) return std::move(result);
  bytes_ += TensorAccess::of(impl)->byte_size();
  if (watched_) watched_->output(impl);
  if (is_nested(impl)) return nested_on_neuron(impl, neuron_storage_of(TensorAccess::of(impl)->storage_impl()));
  if (!impl->key_set().has_all(kCpuKey) || !impl->has_storage()) throw_unsupported_layout(op_, impl);

  const auto* from = TensorAccess::of(impl);
  auto made = c10::make_intrusive<c10::TensorImpl>(neuron_storage_of(from->storage_impl()), kNeuronKey, impl->dtype());
  TensorAccess::of(made.get())->copy_geometry(from);
  made->_set_conj(impl->is_conj());
  made->_set_neg(impl->is_neg());
  return at::Tensor(std::move(made));
}

void Call::restore_storage(TensorAccess* to, TensorAccess* from) {
  c10::StorageImpl* to_storage = to->storage_impl();
  c10::StorageImpl* from_storage = from->storage_impl();
  c10::StorageImpl* aliased = nullptr;
  for (const Argument& argument : arguments_) {
    if (argument.alias == from) aliased = argument.storage;
  }
  if (from_storage != aliased) {  // set_() inside the kernel
    to->storage_field() = neuron_storage_of(from_storage);
    return;
  }
  const size_t nbytes = from_storage->nbytes();
  if (from_storage->data() == device::AddressSpace::to_kernel_view(to_storage->data())) {
    to_storage->unsafe_set_nbytes(nbytes);
    return;
  }
  // resize_() inside the kernel: the memory that it allocated becomes the tensor's.
  c10::DataPtr data;
  if (c10::DataPtr& filled = from_storage->_mutable_data_ptr_no_checks(); owns_device_memory(filled)) {
    data = take_device_memory(filled, device_);
  } else {
    data = backend::allocate_on(device_, nbytes);
    if (nbytes > 0) {
      char* view = device::AddressSpace::to_kernel_view(data.get());
      backend::check_host_memory(view, nbytes);
      std::memcpy(view, from_storage->data(), nbytes);
    }
  }
  reset_alias(to_storage);
  to_storage->set_data_ptr_noswap(std::move(data));
  to_storage->unsafe_set_nbytes(nbytes);
  to_storage->set_allocator(backend::device_allocator());
}

// The kernel threw: an alias that it had given other memory must not keep it.
void Call::reset_aliases() {
  for (const Argument& argument : arguments_) reset_alias(TensorAccess::of(argument.original)->storage_impl());
}

}  // namespace neuron::launch
