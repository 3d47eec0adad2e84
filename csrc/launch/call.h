// One op call: aliases in, CPU kernel, results out.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include <algorithm>

#include "backend/allocator.h"
#include "launch/alias_pool.h"
#include "launch/compile_key.h"
#include "launch/intraop_threads.h"
#include "launch/storage_alias.h"
#include "launch/tensor_access.h"

namespace neuron::launch {

// Counts a write to each tensor in its version counter, by which autograd notices values that changed.
inline void count_writes(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && !tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
  }
}

// While it lives: autograd keys are excluded (the kernel works below autograd), and what the kernel allocates on this
// thread is placed in the memory of `device` (host memory when it is negative).
class Call {
 public:
  // `placed` false: the kernel is not ours to trust with device memory (it may keep tensors of its own, or run Python);
  // what it returns is copied in.
  Call(const std::string& op, int device, device::Charge charge, bool placed = true)
      : op_(op),
        device_(device),
        placement_(backend::Placement{placed ? device : -1, charge}),
        below_autograd_(c10::autograd_dispatch_keyset_with_ADInplaceOrView),
        pool_(AliasPool::of_this_thread()) {
    if (device >= 0) backend::ensure_started();
    use_callers_threads();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (C10_UNLIKELY(!finished_)) reset_aliases();
  }

  // The CPU tensor over a neuron tensor's bytes; other tensors (CPU scalars, undefined) come back as they are.
  // `original` must outlive the call.
  at::Tensor alias(const at::Tensor& original) {
    c10::TensorImpl* impl = original.unsafeGetTensorImpl();
    if (C10_UNLIKELY(!is_neuron(impl))) return alias_slow(original);
    auto* source = TensorAccess::of(impl);
    bytes_ += source->byte_size();
    if (at::Tensor again = alias_of(impl); C10_UNLIKELY(again.defined())) return again;
    c10::Storage storage = storage_alias(source->storage_impl());
    c10::StorageImpl* storage_impl = storage.unsafeGetStorageImpl();
    auto made = pool_.take();
    TensorAccess::of(made.get())->become_alias(source, std::move(storage));
    arguments_.push_back({impl, made.get(), storage_impl});
    return at::Tensor(std::move(made));
  }

  // The same for a tensor that the kernel may fill: the host must be able to back it.
  at::Tensor alias_to_write(const at::Tensor& original) {
    at::Tensor alias = this->alias(original);
    const c10::TensorImpl* impl = alias.unsafeGetTensorImpl();
    if (impl->has_storage()) {
      const size_t nbytes = static_cast<size_t>(impl->numel()) * impl->itemsize();
      backend::check_host_memory(impl->unsafe_storage().data(), nbytes);
    }
    return alias;
  }

  // A tensor that the kernel returned, as a neuron tensor: the original when it is an alias, else adopted in place.
  at::Tensor adopt(at::Tensor&& result) {
    c10::TensorImpl* impl = result.unsafeGetTensorImpl();
    if (C10_LIKELY(c10::raw::intrusive_ptr::use_count(impl) == 1 && impl->key_set().has_all(kCpuKey) && device_ >= 0)) {
      auto* access = TensorAccess::of(impl);
      c10::StorageImpl* storage = access->storage_impl();
      c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
      if (C10_LIKELY(c10::raw::intrusive_ptr::use_count(storage) == 1 && owns_device_memory(data))) {
        data = take_device_memory(data, device_);
        storage->set_allocator(backend::device_allocator());
        access->become_neuron({backend::kNeuron, static_cast<c10::DeviceIndex>(device_)});
        bytes_ += access->byte_size();
        if (C10_UNLIKELY(watched_ != nullptr)) watched_->output(impl);
        return std::move(result);
      }
    }
    return adopt_slow(std::move(result));
  }

  // Writes back what a kernel did to the size or storage of an argument that it may write to.
  void restore(const at::Tensor& original, const at::Tensor& alias) {
    c10::TensorImpl* original_impl = original.unsafeGetTensorImpl();
    c10::TensorImpl* alias_impl = alias.unsafeGetTensorImpl();
    if (C10_UNLIKELY(original_impl == alias_impl || !is_neuron(original_impl))) return;
    auto* to = TensorAccess::of(original_impl);
    auto* from = TensorAccess::of(alias_impl);
    c10::StorageImpl* to_storage = to->storage_impl();
    c10::StorageImpl* from_storage = from->storage_impl();
    if (C10_UNLIKELY(from_storage->data() != device::AddressSpace::to_kernel_view(to_storage->data()) ||
                     from_storage->nbytes() != to_storage->nbytes())) {
      restore_storage(to, from);
    }
    if (C10_UNLIKELY(!from->has_geometry_of(to))) to->copy_geometry(from);
    if (C10_UNLIKELY(from->is_conj() != to->is_conj())) to->_set_conj(from->is_conj());
    if (C10_UNLIKELY(from->is_neg() != to->is_neg())) to->_set_neg(from->is_neg());
  }

  void recycle(at::Tensor&& alias) {
    if (alias.unsafeGetTensorImpl()->key_set().has_all(kCpuKey)) pool_.give(std::move(alias));
  }

  // The neuron tensor of which `alias` is the alias; undefined when there is none.
  at::Tensor original_of(const c10::TensorImpl* alias) const;

  // The kernel wrote to an argument.
  void count_write(const at::Tensor& alias) {
    const c10::TensorImpl* impl = alias.unsafeGetTensorImpl();
    bytes_ += TensorAccess::of(impl)->byte_size();
    if (C10_UNLIKELY(watched_ != nullptr)) watched_->output(impl);
  }

  // Notes the results in the description of a call whose program is new; nullptr: in none.
  void note_outputs_in(KeyDescription* description) { watched_ = description; }

  int device() const { return device_; }
  // Device memory that was read and written: all arguments, and the results and written arguments so far.
  int64_t bytes() const { return bytes_; }

  // Everything was adopted and restored.
  void finish() { finished_ = true; }

 private:
  struct Argument {
    c10::TensorImpl* original;
    c10::TensorImpl* alias;
    c10::StorageImpl* storage;
  };

  // The alias that this call already has of a tensor, so that kernels see that two arguments are one. Looked for among
  // the first few arguments only: long lists (foreach) would make it quadratic.
  at::Tensor alias_of(const c10::TensorImpl* original) const {
    const size_t count = std::min(arguments_.size(), kInlineArguments);
    for (size_t i = 0; i < count; ++i) {
      if (C10_UNLIKELY(arguments_[i].original == original)) {
        return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(arguments_[i].alias));
      }
    }
    return {};
  }
  at::Tensor alias_slow(const at::Tensor& original);
  at::Tensor adopt_slow(at::Tensor&& result);
  c10::Storage neuron_storage_of(c10::StorageImpl* cpu);
  void restore_storage(TensorAccess* to, TensorAccess* from);
  void reset_aliases();

  const std::string& op_;
  const int device_;
  backend::PlacementGuard placement_;
  c10::impl::ExcludeDispatchKeyGuard below_autograd_;
  AliasPool& pool_;
  bool finished_ = false;
  int64_t bytes_ = 0;
  KeyDescription* watched_ = nullptr;
  static constexpr size_t kInlineArguments = 12;
  c10::SmallVector<Argument, kInlineArguments> arguments_;
  // Fresh storages that several results share, by their CPU storage.
  c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 1> shared_;
};

}  // namespace neuron::launch
