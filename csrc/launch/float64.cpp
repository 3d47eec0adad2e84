#include "launch/float64.h"

#include <ATen/core/List.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/copy_ops.h>

#include "launch/tensor_access.h"

namespace neuron::launch {
namespace {

using at::kDouble;
using at::kFloat;

template <class F>
void for_each_tensor(const c10::IValue& value, F&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const auto& tensor : value.toOptionalTensorVector()) {
      if (tensor.has_value() && tensor->defined()) visit(*tensor);
    }
  }
}

bool is_dtype(const PlannedArgument& planned, const c10::IValue& value, at::ScalarType dtype) {
  return planned.kind == ArgumentKind::kDtype && value.isInt() && value.toInt() == static_cast<int64_t>(dtype);
}

// What decides whether PyTorch's promotion would have given a float64 result.
struct Census {
  bool dimensioned = false, scalar = false, other_floating = false;

  Census(const ArgumentPlan& plan, const c10::IValue* arguments) {
    for (size_t i = 0; i < plan.arguments.size(); ++i) {
      for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
        if (tensor.scalar_type() == kDouble && !tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
          (tensor.dim() > 0 ? dimensioned : scalar) = true;
        } else if (tensor.dim() > 0 && tensor.is_floating_point()) {
          other_floating = true;
        }
      });
    }
  }
};

}  // namespace

bool Float64Demotion::applies(const ArgumentPlan& plan, const c10::IValue* arguments) {
  const Census census(plan, arguments);
  if (census.dimensioned || census.scalar) return !(census.dimensioned && census.other_floating);
  bool has_tensor = false, asked = false;
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor&) { has_tensor = true; });
    asked |= is_dtype(plan.arguments[i], arguments[i], kDouble);
  }
  return has_tensor && asked;  // a factory without tensors only fills memory
}

at::Tensor Float64Demotion::narrow_tensor(const at::Tensor& alias, bool written) {
  if (!alias.defined() || alias.scalar_type() != kDouble || alias.unsafeGetTensorImpl()->is_wrapped_number()) {
    return alias;
  }
  for (Pair& pair : pairs_) {
    if (pair.alias.is_same(alias)) {
      pair.written |= written;
      return pair.narrowed;
    }
  }
  pairs_.push_back({alias, at::_to_copy(alias, at::TensorOptions().dtype(kFloat)), written});
  return pairs_.back().narrowed;
}

void Float64Demotion::narrow(const ArgumentPlan& plan, c10::IValue* arguments) {
  const Census census(plan, arguments);
  widens_results_ = census.dimensioned || (census.scalar && !census.other_floating);
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    const PlannedArgument& planned = plan.arguments[i];
    c10::IValue& value = arguments[i];
    if (planned.kind == ArgumentKind::kDtype && value.isInt()) {
      widens_results_ = is_dtype(planned, value, kDouble);
      if (widens_results_) value = static_cast<int64_t>(kFloat);
    } else if (value.isTensor()) {
      value = narrow_tensor(value.toTensor(), planned.written);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> narrowed;
      for (const at::Tensor& tensor : value.toTensorVector())
        narrowed.push_back(narrow_tensor(tensor, planned.written));
      value = std::move(narrowed);
    }
  }
}

at::Tensor Float64Demotion::widen_tensor(at::Tensor&& result) const {
  if (!result.defined()) return std::move(result);
  for (const Pair& pair : pairs_) {
    if (pair.narrowed.is_same(result)) return pair.alias;
  }
  if (!widens_results_ || result.scalar_type() != kFloat) return std::move(result);
  return at::_to_copy(result, at::TensorOptions().dtype(kDouble));
}

void Float64Demotion::widen(const ArgumentPlan& plan, torch::jit::Stack* stack) {
  for (const Pair& pair : pairs_) {
    if (!pair.written) continue;
    if (pair.alias.sizes() != pair.narrowed.sizes()) pair.alias.resize_(pair.narrowed.sizes());
    at::_ops::copy_::call(const_cast<at::Tensor&>(pair.alias), pair.narrowed, false);
  }
  for (size_t i = stack->size() - plan.returns; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = widen_tensor(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> widened;
      for (at::Tensor& tensor : value.toTensorVector()) widened.push_back(widen_tensor(std::move(tensor)));
      value = std::move(widened);
    }
  }
}

}  // namespace neuron::launch
