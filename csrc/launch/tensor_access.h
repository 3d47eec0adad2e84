// The one place that reads and writes TensorImpl's protected fields.
//
// Launch turns a neuron tensor into a CPU tensor over the same bytes, and what a kernel returns into a neuron tensor,
// in place, on every op; the public API offers neither. Sound because TensorAccess adds no data member and no virtual
// function, so a TensorImpl may be seen through it, and because every field that is touched is listed here and checked
// against the torch version at compile time.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <torch/headeronly/version.h>

#include "backend/runtime.h"

#if TORCH_VERSION_MAJOR != 2 || (TORCH_VERSION_MINOR != 13 && TORCH_VERSION_MINOR != 14)
#error \
    "torch_neuron_sim reads TensorImpl's fields as torch 2.13 and 2.14 lay them out; check this file before you build with another torch"
#endif

namespace neuron::launch {

constexpr c10::DispatchKeySet kCpuKey(c10::DispatchKey::CPU);
constexpr c10::DispatchKeySet kNeuronKey(c10::DispatchKey::PrivateUse1);
constexpr c10::DispatchKeySet kCpuBit(c10::BackendComponent::CPUBit);
constexpr c10::DispatchKeySet kNeuronBit(c10::BackendComponent::PrivateUse1Bit);

// A dense tensor on a neuron device (not sparse, quantized or nested).
inline bool is_neuron(const c10::TensorImpl* tensor) { return tensor->key_set().has_all(kNeuronKey); }
// On a neuron device in any layout.
inline bool is_on_neuron(const c10::TensorImpl* tensor) {
  return tensor->key_set().has_backend(c10::BackendComponent::PrivateUse1Bit);
}

class TensorAccess final : public c10::TensorImpl {
 public:
  static TensorAccess* of(c10::TensorImpl* tensor) { return static_cast<TensorAccess*>(tensor); }
  static const TensorAccess* of(const c10::TensorImpl* tensor) { return static_cast<const TensorAccess*>(tensor); }

  c10::StorageImpl* storage_impl() const { return storage_.unsafeGetStorageImpl(); }
  c10::Storage& storage_field() { return storage_; }
  caffe2::TypeMeta dtype_field() const { return data_type_; }
  c10::IntArrayRef sizes_field() const { return sizes_and_strides_.sizes_arrayref(); }
  c10::IntArrayRef strides_field() const { return sizes_and_strides_.strides_arrayref(); }
  int64_t byte_size() const { return numel_ * static_cast<int64_t>(data_type_.itemsize()); }

  // A CPU tensor that a kernel returned becomes a neuron tensor.
  void become_neuron(c10::Device device) {
    key_set_ = key_set_.remove_backend(c10::BackendComponent::CPUBit) | kNeuronBit;
    if (key_set_.has(c10::DispatchKey::AutocastCPU)) {
      key_set_ = key_set_.remove(c10::DispatchKey::AutocastCPU).add(c10::DispatchKey::AutocastPrivateUse1);
    }
    device_opt_ = device;
  }

  // A pooled CPU tensor becomes an alias of `source` over `storage`. No autocast key: what a kernel calls inside is not
  // cast again.
  void become_alias(const TensorAccess* source, c10::Storage&& storage) {
    storage_ = std::move(storage);
    data_type_ = source->data_type_;
    is_wrapped_number_ = source->is_wrapped_number_;
    copy_geometry(source);
    key_set_ = (source->key_set_.remove_backend(c10::BackendComponent::PrivateUse1Bit) | kCpuBit) -
               (c10::DispatchKeySet(c10::DispatchKey::AutocastPrivateUse1) | c10::python_ks);
  }

  void copy_geometry(const TensorAccess* source) {
    sizes_and_strides_ = source->sizes_and_strides_;
    storage_offset_ = source->storage_offset_;
    numel_ = source->numel_;
    is_contiguous_ = source->is_contiguous_;
    is_channels_last_ = source->is_channels_last_;
    is_channels_last_contiguous_ = source->is_channels_last_contiguous_;
    is_channels_last_3d_ = source->is_channels_last_3d_;
    is_channels_last_3d_contiguous_ = source->is_channels_last_3d_contiguous_;
    is_non_overlapping_and_dense_ = source->is_non_overlapping_and_dense_;
  }

  bool has_geometry_of(const TensorAccess* other) const {
    return storage_offset_ == other->storage_offset_ &&
           sizes_and_strides_.sizes_arrayref() == other->sizes_and_strides_.sizes_arrayref() &&
           sizes_and_strides_.strides_arrayref() == other->sizes_and_strides_.strides_arrayref();
  }
};
static_assert(sizeof(TensorAccess) == sizeof(c10::TensorImpl));

}  // namespace neuron::launch
