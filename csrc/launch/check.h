// What every op checks of its tensor arguments before anything runs; one error text for each rule.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "launch/argument_plan.h"
#include "launch/compile_key.h"
#include "launch/operator_entry.h"
#include "launch/tensor_access.h"

namespace neuron::launch {

// What a scan over the arguments found, and the hash of their compile key. Cheap enough for the hot path; anything
// unusual only sets `odd`, and the full checks are made on the careful path.
struct ArgumentScan : KeyHash {
  using KeyHash::KeyHash;

  int device = -1;
  DtypeSet dtypes = 0;
  bool odd = false;

  void see(const at::Tensor& tensor) {
    const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (C10_LIKELY(is_neuron(impl))) {
      const int index = impl->device().index();
      odd |= device >= 0 && device != index;
      device = index;
      dtypes |= dtype_bit(c10::typeMetaToScalarType(TensorAccess::of(impl)->dtype_field()));
      this->tensor(impl);
    } else if (tensor.defined()) {
      odd |= !is_cpu_scalar(impl);
      this->tensor(impl);
    } else {
      absent();
    }
  }
  // A tensor that the kernel writes to.
  void see_written(const at::Tensor& tensor) {
    odd |= !is_neuron(tensor.unsafeGetTensorImpl());
    see(tensor);
  }

  // CPU tensors of no dimension mix with device tensors, as on every accelerator.
  static bool is_cpu_scalar(const c10::TensorImpl* impl) { return impl->dim() == 0 && impl->is_cpu(); }
};

// The same, one tensor at a time, with errors.
class ArgumentCheck {
 public:
  explicit ArgumentCheck(const OperatorEntry& entry) : entry_(entry) {}

  void see(const at::Tensor& tensor, const PlannedArgument& planned);
  // After the last tensor: a CPU tensor that no neuron tensor followed is refused too.
  void finish() const;
  int device() const { return device_; }
  DtypeSet dtypes() const { return dtypes_; }
  // Whether one of them is a nested tensor.
  bool nested() const { return nested_; }

 private:
  const OperatorEntry& entry_;
  int device_ = -1;
  DtypeSet dtypes_ = 0;
  bool nested_ = false;
  std::optional<c10::Device> host_;  // of the first CPU tensor that may not mix with neuron tensors
};

// NotImplementedError in one line, for a tensor in a layout that the device does not have.
[[noreturn]] void throw_unsupported_layout(const std::string& op, c10::Layout layout);
[[noreturn]] void throw_unsupported_layout(const std::string& op, const c10::TensorImpl* tensor);
[[noreturn]] void throw_two_devices(const std::string& op, c10::Device first, c10::Device second);

}  // namespace neuron::launch
