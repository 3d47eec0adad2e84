#include "launch/float64.h"

#include "launch/dtype_conversion.h"

namespace neuron::launch {

bool is_demoted(const ArgumentPlan& plan, const c10::IValue* arguments) {
  bool dimensioned = false, scalar = false, other_floating = false, has_tensor = false, asked = false;
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      has_tensor = true;
      if (tensor.scalar_type() == at::kDouble && !tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
        (tensor.dim() > 0 ? dimensioned : scalar) = true;
      } else if (tensor.dim() > 0 && tensor.is_floating_point()) {
        other_floating = true;
      }
    });
    asked |= plan.arguments[i].kind == ArgumentKind::kDtype && arguments[i].isInt() &&
             arguments[i].toInt() == static_cast<int64_t>(at::kDouble);
  }
  if (dimensioned || scalar) return !(dimensioned && other_floating);
  return has_tensor && asked;  // a factory without tensors only fills memory
}

const std::vector<ComputeDtype>& float64_as_float32() {
  static const auto* rules =
      new std::vector<ComputeDtype>{{.dtypes = dtype_bit(at::kDouble), .computed_in = at::kFloat}};
  return *rules;
}

}  // namespace neuron::launch
