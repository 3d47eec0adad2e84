// Layouts that the device does not have: one line instead of a dump of dispatch keys.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include "launch/registration.h"
#include "launch/unsupported_layout.h"

namespace neuron::ops {
namespace {

void refuse(const char* layout, const c10::OperatorHandle& op) {
  launch::refuse_layout(c10::toString(op.operator_name()), layout);
}
void refuse_sparse(const c10::OperatorHandle& op, torch::jit::Stack*) { refuse("sparse", op); }
void refuse_compressed(const c10::OperatorHandle& op, torch::jit::Stack*) { refuse("sparse compressed", op); }
void refuse_quantized(const c10::OperatorHandle& op, torch::jit::Stack*) { refuse("quantized", op); }

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_compressed>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
}

// Ops that make such tensors from dense ones are refused at once, before a fallback would be announced.
template <auto function>
void refuse_all(torch::Library& library, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<function>());
    launch::note_registered_by_hand(std::string("aten::") + name);
  }
}

// PyTorch picks the kernel by the members' key or, where a layout is given, by that of the result.
void refuse_compressed_members(torch::Library& library) {
  refuse_all<&refuse_compressed>(
      library, {"_sparse_compressed_tensor_unsafe", "_sparse_csr_tensor_unsafe", "_sparse_csc_tensor_unsafe",
                "_sparse_bsr_tensor_unsafe", "_sparse_bsc_tensor_unsafe",
                "sparse_compressed_tensor.comp_plain_value_size", "sparse_compressed_tensor.comp_plain_value"});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  refuse_compressed_members(library);
  refuse_all<&refuse_compressed>(library, {"_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"});
  refuse_all<&refuse_sparse>(library, {"_to_sparse", "_to_sparse.sparse_dim"});
  refuse_all<&refuse_quantized>(
      library, {"quantize_per_tensor", "quantize_per_tensor.tensor_qparams", "quantize_per_tensor.tensors",
                "quantize_per_tensor_dynamic", "quantize_per_channel"});
}
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, library) {
  refuse_compressed_members(library);
  library.impl("empty.memory_format", torch::CppFunction::makeFromBoxedFunction<&refuse_compressed>());
}

}  // namespace
}  // namespace neuron::ops
