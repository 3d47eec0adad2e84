// Layouts that the device does not have: one line instead of a dump of dispatch keys.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include "launch/check.h"

namespace neuron::ops {
namespace {

void refuse(const char* layout, const c10::OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.operator_name(), ": ", layout,
                              " tensors are not supported on neuron; use a dense tensor (.to_dense()), or do this step "
                              "on CPU (.cpu()) and move the dense result");
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

}  // namespace
}  // namespace neuron::ops
