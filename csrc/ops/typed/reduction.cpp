// Typed launches of reductions and scans.
#include <ATen/core/Tensor.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/var_mean_ops.h>
#include <ATen/ops/var_ops.h>

#include "launch/typed.h"

namespace neuron::ops {
namespace {

namespace op = at::_ops;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  launch::register_all_typed<op::sum, op::sum_dim_IntList, op::mean, op::mean_dim, op::amax, op::amin, op::max,
                             op::max_dim, op::argmax, op::any, op::all, op::cumsum, op::linalg_vector_norm,
                             op::var_correction, op::var_mean_correction>(library);
}

}  // namespace
}  // namespace neuron::ops
