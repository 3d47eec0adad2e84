// The float64 rule: storage stays float64, native kernels compute in float32 and widen the result, with one warning.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <utility>
#include <vector>

#include "launch/argument_plan.h"

namespace neuron::launch {

class Float64Demotion {
 public:
  // Whether a native call with these arguments is to be demoted: it computes on float64 tensors, or was asked for a
  // float64 result. Calls that mix dimensioned float64 and other floating tensors are left exact, so that PyTorch's own
  // dtype errors stay what they are.
  static bool applies(const ArgumentPlan& plan, const c10::IValue* arguments);

  // Replaces float64 tensors and dtype arguments on the stack (CPU aliases by now) by float32 ones.
  void narrow(const ArgumentPlan& plan, c10::IValue* arguments);
  // Copies written arguments back and widens results (the last plan.returns values of the stack).
  void widen(const ArgumentPlan& plan, torch::jit::Stack* stack);

 private:
  at::Tensor narrow_tensor(const at::Tensor& alias, bool written);
  at::Tensor widen_tensor(at::Tensor&& result) const;

  struct Pair {
    at::Tensor alias, narrowed;
    bool written;
  };
  std::vector<Pair> pairs_;
  bool widens_results_ = false;
};

}  // namespace neuron::launch
