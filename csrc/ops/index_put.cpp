// Writing through indices.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_index_put_impl_ops.h>
#include <ATen/ops/_to_copy.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;
using Indices = c10::List<std::optional<at::Tensor>>;

at::Tensor to_cpu(const at::Tensor& tensor) { return at::_to_copy(tensor, at::TensorOptions().device(at::kCPU)); }

// host_tensor[indices] = device_scalar: the scalar moves to the host, as on CUDA. (PyTorch has moved the indices.)
at::Tensor& index_put_impl_(at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate,
                            bool unsafe) {
  if (C10_UNLIKELY(self.is_cpu() && values.dim() == 0)) {
    return op::_index_put_impl_::call(self, indices, to_cpu(values), accumulate, unsafe);
  }
  return launch::Typed<op::_index_put_impl_>::call(self, indices, values, accumulate, unsafe);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::prepare_typed<op::_index_put_impl_>();
  library.impl("_index_put_impl_", TORCH_FN(index_put_impl_));
  launch::note_registered_by_hand("aten::_index_put_impl_");
}

}  // namespace
}  // namespace neuron::ops
