// resize_ and set_: changing what storage a tensor sees, and how much of it.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/ResizeCommon.h>
#include <c10/util/DimVector.h>
#include <torch/library.h>

#include "backend/allocator.h"
#include "launch/registration.h"
#include "launch/tensor_access.h"

namespace neuron::ops {
namespace {

using at::IntArrayRef;
using at::Tensor;

void grow_storage(c10::TensorImpl* tensor, size_t nbytes) {
  c10::StorageImpl* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (nbytes > storage->nbytes()) backend::resize_storage(storage, nbytes);
}

const Tensor& resize_(const Tensor& self, IntArrayRef size, std::optional<at::MemoryFormat> memory_format) {
  c10::TensorImpl* tensor = self.unsafeGetTensorImpl();
  if (self.sizes() != size) {
    const auto before = static_cast<int64_t>(tensor->unsafe_storage().nbytes());
    at::detail::check_size_nonnegative(size);
    const size_t needed = at::detail::computeStorageNbytesContiguous(size, self.itemsize(),
                                                                     static_cast<size_t>(tensor->storage_offset()));
    if (c10::multiply_integers(size) > 0) grow_storage(tensor, needed);  // may fail: nothing has changed yet
    tensor->set_sizes_contiguous(size);
    const at::Context& context = at::globalContext();
    if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())) {
      at::native::fill_resize_deterministic_(self, before);
    }
  }
  if (memory_format.has_value()) {
    TORCH_CHECK(*memory_format != at::MemoryFormat::Preserve, "Unsupported memory format ", *memory_format);
    tensor->empty_tensor_restride(*memory_format);
  }
  return self;
}

Tensor& set_storage_offset(Tensor& self, at::Storage source, int64_t storage_offset, IntArrayRef size,
                           IntArrayRef stride) {
  TORCH_CHECK(source.device() == self.device(), "Attempted to set the storage of a tensor on device \"", self.device(),
              "\" to a storage on different device \"", source.device(),
              "\". This is no longer allowed; the devices must match.");
  TORCH_CHECK(storage_offset >= 0, "Tensor: invalid storage offset ", storage_offset);
  TORCH_CHECK(stride.empty() || size.size() == stride.size(), "set_: size has ", size.size(),
              " dimensions but stride has ", stride.size());
  at::detail::check_size_nonnegative(size);
  // As on CPU: a tensor that has the size already keeps its strides.
  const c10::DimVector kept(self.strides());
  if (stride.empty() && self.sizes() == size) stride = kept;
  const auto offset = static_cast<size_t>(storage_offset);
  const size_t needed = stride.empty() ? at::detail::computeStorageNbytesContiguous(size, self.itemsize(), offset)
                                       : at::detail::computeStorageNbytes(size, stride, self.itemsize(), offset);
  if (c10::multiply_integers(size) > 0 && needed > source.nbytes()) {
    backend::resize_storage(source.unsafeGetStorageImpl(), needed);  // may fail: the tensor has not changed yet
  }
  c10::TensorImpl* tensor = self.unsafeGetTensorImpl();
  if (!source.is_alias_of(tensor->unsafe_storage())) tensor->set_storage_keep_dtype(source);
  tensor->set_storage_offset(storage_offset);
  if (stride.empty()) {
    tensor->set_sizes_contiguous(size);
  } else {
    tensor->set_sizes_and_strides(size, stride);
  }
  return self;
}

Tensor& set_storage(Tensor& self, at::Storage source) {
  const auto numel = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_storage_offset(self, std::move(source), 0, {numel}, {});
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
  if (self.is_same(source)) return self;
  return set_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

Tensor& set_empty(Tensor& self) {
  c10::DataPtr none = backend::allocate_on(self.device().index(), 0);
  at::Storage storage(at::Storage::use_byte_size_t(), 0, std::move(none), backend::device_allocator(), true);
  return set_storage_offset(self, std::move(storage), 0, {0}, {});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("resize_", &resize_);
  library.impl("set_.source_Storage", &set_storage);
  library.impl("set_.source_Storage_storage_offset", &set_storage_offset);
  library.impl("set_.source_Tensor", &set_tensor);
  library.impl("set_", &set_empty);
  for (const char* name : {"aten::resize_", "aten::set_.source_Storage", "aten::set_.source_Storage_storage_offset",
                           "aten::set_.source_Tensor", "aten::set_"}) {
    launch::note_registered_by_hand(name);
  }
}

}  // namespace
}  // namespace neuron::ops
