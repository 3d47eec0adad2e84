// Computing a call in another dtype than its tensors have: arguments are converted, the kernel runs, results and
// written arguments are converted back. The one mechanism behind the float64 rule and behind dtypes that CPU's kernels
// lack.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <vector>

#include "launch/argument_plan.h"
#include "launch/operator_entry.h"

namespace neuron::launch {

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

// Used once, for one call.
class DtypeConversion {
 public:
  DtypeConversion(const ArgumentPlan& plan, const std::vector<ComputeDtype>& rules) : plan_(plan), rules_(rules) {}

  // Replaces tensors on the stack (CPU aliases) and dtype arguments, as the rules say.
  void convert_arguments(c10::IValue* arguments);
  // Copies written arguments back and gives results (the last plan.returns values of the stack) the dtype that
  // PyTorch's promotion gives for the original arguments.
  void convert_results(torch::jit::Stack* stack);

 private:
  // What decides a result's dtype.
  struct Operands {
    DtypeSet dimensioned = 0, scalar = 0;  // of converted tensors, with and without dimensions
    int others = -1;                       // the highest category of a tensor with dimensions that was not converted

    void see(const at::Tensor& tensor, bool converted);
    // Undefined when results are to stay as they are.
    at::ScalarType result_dtype() const;
  };
  struct Pair {
    at::Tensor alias, converted;
    bool written;
  };

  void convert_dtypes(c10::IValue* arguments);
  at::Tensor convert_argument(const at::Tensor& alias, size_t argument, Operands* of_element);
  at::Tensor convert(const at::Tensor& alias, at::ScalarType dtype, bool written);
  at::Tensor convert_result(at::Tensor&& result, size_t position, const Operands& operands) const;
  at::ScalarType result_dtype(const at::Tensor& result, size_t position, const Operands& operands) const;

  const ArgumentPlan& plan_;
  const std::vector<ComputeDtype>& rules_;
  std::vector<Pair> pairs_;
  std::vector<at::Tensor> kept_written_;  // written arguments that were not converted
  DtypeSet computed_in_ = 0;
  const ComputeDtype* rule_ = nullptr;  // the first that applied
  Operands operands_;
  std::vector<Operands> elements_;  // the same for the members of lists, by position
  bool asked_ = false;              // a dtype argument was given
  // Of a dtype argument that was replaced.
  at::ScalarType asked_dtype_ = at::ScalarType::Undefined, asked_computed_in_ = at::ScalarType::Undefined;
};

}  // namespace neuron::launch
