#include "launch/argument_plan.h"

#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string_view>

namespace neuron::launch {
namespace {

using c10::TypeKind;

// Arguments that PyTorch's accelerator kernels take on the host as well.
bool takes_host_tensor(std::string_view op, std::string_view argument) {
  if (op == "aten::_ctc_loss" || op == "aten::_ctc_loss_backward") {
    return argument == "targets" || argument == "input_lengths" || argument == "target_lengths";
  }
  return false;
}

ArgumentKind kind_of(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  switch (type->kind()) {
    case TypeKind::TensorType:
      return ArgumentKind::kTensor;
    case TypeKind::GeneratorType:
      return ArgumentKind::kGenerator;
    case TypeKind::DeviceObjType:
      return ArgumentKind::kDevice;
    case TypeKind::ScalarTypeType:
      return ArgumentKind::kDtype;
    case TypeKind::ListType: {
      const c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      if (element->kind() == TypeKind::TensorType) return ArgumentKind::kTensorList;
      const auto* optional = element->castRaw<c10::OptionalType>();
      if (optional && optional->getElementType()->kind() == TypeKind::TensorType) return ArgumentKind::kIndexList;
      return ArgumentKind::kPlain;
    }
    default:
      return argument.name() == "pin_memory" ? ArgumentKind::kPinMemory : ArgumentKind::kPlain;
  }
}

bool is_number(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  if (const auto list = type->cast<c10::ListType>()) type = list->getElementType();
  return type->kind() == TypeKind::NumberType;
}

}  // namespace

ArgumentPlan::ArgumentPlan(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  returns = schema.returns().size();
  for (const c10::Argument& argument : schema.arguments()) {
    PlannedArgument planned;
    planned.kind = kind_of(argument);
    planned.written = argument.alias_info() && argument.alias_info()->isWrite();
    planned.host_allowed =
        planned.kind == ArgumentKind::kIndexList || takes_host_tensor(schema.name(), argument.name());
    planned.number = is_number(argument);
    arguments.push_back(planned);
  }
  const uint64_t counted = counted_lists(op);
  for (size_t i = 0; i < arguments.size() && i < 64; ++i) arguments[i].counted = counted >> i & 1;
  draws = draws_without_generator(op);
}

bool draws_without_generator(const c10::OperatorHandle& op) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  const auto& arguments = op.schema().arguments();
  return std::none_of(arguments.begin(), arguments.end(),
                      [](const c10::Argument& argument) { return kind_of(argument) == ArgumentKind::kGenerator; });
}

uint64_t counted_lists(const c10::OperatorHandle& op) {
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CPU)) return 0;
  uint64_t lists = 0;
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size() && i < 64; ++i) {
    const bool written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
    if (written && kind_of(arguments[i]) == ArgumentKind::kTensorList) lists |= uint64_t{1} << i;
  }
  return lists;
}

}  // namespace neuron::launch
