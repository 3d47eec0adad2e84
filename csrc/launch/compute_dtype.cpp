#include "launch/compute_dtype.h"

#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <c10/util/Exception.h>

#include <exception>
#include <utility>

#include "backend/allocator.h"
#include "launch/dtype_conversion.h"

namespace neuron::launch {
namespace {

using torch::jit::Stack;

template <class F>
void for_each_rule(const ArgumentPlan& plan, const std::vector<ComputeDtype>& rules, const c10::IValue* arguments,
                   F&& visit) {
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    const auto see = [&](at::ScalarType dtype) {
      if (const ComputeDtype* rule = compute_dtype(rules, dtype, i)) visit(*rule);
    };
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (!tensor.unsafeGetTensorImpl()->is_wrapped_number()) see(tensor.scalar_type());
    });
    if (plan.arguments[i].kind == ArgumentKind::kDtype && arguments[i].isInt()) {
      see(static_cast<at::ScalarType>(arguments[i].toInt()));
    }
  }
}

// An op over lists writes one member after the other, and may have written some before it meets the dtype.
class WrittenLists {
 public:
  WrittenLists(const ArgumentPlan& plan, const c10::IValue* arguments) {
    for (size_t i = 0; i < plan.arguments.size(); ++i) {
      if (!plan.arguments[i].written || !arguments[i].isTensorList()) continue;
      for (at::Tensor& tensor : arguments[i].toTensorVector()) {
        at::Tensor saved = at::_ops::clone::call(tensor, std::nullopt);
        saved_.emplace_back(std::move(tensor), std::move(saved));
      }
    }
  }
  void restore() {
    for (auto& [tensor, saved] : saved_) {
      if (tensor.sizes() == saved.sizes()) at::_ops::copy_::call(tensor, saved, false);
    }
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> saved_;
};

// Runs the kernel on the arguments as they are; returns its refusal, and has the arguments on the stack again then.
std::exception_ptr attempt(const ArgumentPlan& plan, Stack* stack, c10::function_ref<void()> kernel) {
  const size_t base = stack->size() - plan.arguments.size();
  const Stack arguments(stack->begin() + static_cast<std::ptrdiff_t>(base), stack->end());
  WrittenLists lists(plan, arguments.data());
  std::exception_ptr refusal;
  try {
    kernel();
    return nullptr;
  } catch (const c10::NotImplementedError&) {
    refusal = std::current_exception();
  }
  lists.restore();
  stack->resize(base);
  stack->insert(stack->end(), arguments.begin(), arguments.end());
  return refusal;
}

}  // namespace

bool needs_compute_dtype(const ArgumentPlan& plan, const std::vector<ComputeDtype>& rules,
                         const c10::IValue* arguments) {
  bool found = false;
  for_each_rule(plan, rules, arguments, [&](const ComputeDtype&) { found = true; });
  return found;
}

void run_in_compute_dtype(const ArgumentPlan& plan, const std::vector<ComputeDtype>& rules, Stack* stack,
                          c10::function_ref<void()> kernel) {
  const auto arguments = [&] { return stack->data() + (stack->size() - plan.arguments.size()); };
  bool always = false;
  for_each_rule(plan, rules, arguments(), [&](const ComputeDtype& rule) { always |= rule.always; });
  std::exception_ptr refusal;
  if (!always) {
    refusal = attempt(plan, stack, kernel);
    if (!refusal) return;
  }
  DtypeConversion conversion(plan, rules);
  {
    // The device needs no converted copies: they are not its memory.
    const backend::PlacementGuard on_host(backend::Placement{});
    conversion.convert_arguments(arguments());
    try {
      kernel();
    } catch (const c10::NotImplementedError&) {
      if (refusal) std::rethrow_exception(refusal);
      throw;
    }
  }
  conversion.convert_results(stack);
}

}  // namespace neuron::launch
