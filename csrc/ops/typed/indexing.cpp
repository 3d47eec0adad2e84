// Typed launches of indexing, gathering and joining.
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/flip_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/index_add_ops.h>
#include <ATen/ops/index_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/masked_select_ops.h>
#include <ATen/ops/nonzero_ops.h>
#include <ATen/ops/repeat_ops.h>
#include <ATen/ops/scatter_add_ops.h>
#include <ATen/ops/scatter_ops.h>
#include <ATen/ops/select_backward_ops.h>
#include <ATen/ops/slice_backward_ops.h>
#include <ATen/ops/stack_ops.h>
#include <ATen/ops/tril_ops.h>
#include <ATen/ops/triu_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::embedding, op::embedding_dense_backward, op::index_select, op::index_Tensor,
                             op::gather, op::scatter__src, op::scatter__value, op::scatter_add, op::scatter_add_,
                             op::cat, op::stack, op::masked_select, op::nonzero, op::index_add_, op::tril, op::triu,
                             op::select_backward, op::slice_backward, op::repeat, op::flip>(library);
}

}  // namespace
}  // namespace neuron::ops
