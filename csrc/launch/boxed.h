// The boxed path: one functor that runs any operator with a CPU kernel, from its schema. It is the generic neuron
// kernel of aten, the careful path of the typed kernels, and the catch-all for operators of other libraries.
#pragma once

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <string>
#include <vector>

#include "launch/argument_plan.h"
#include "launch/operator_entry.h"

namespace neuron::launch {

class BoxedLaunch final : public c10::OperatorKernel {
 public:
  // `body` runs on the CPU aliases; without one, the operator's own CPU kernel does.
  explicit BoxedLaunch(const c10::OperatorHandle& op, c10::KernelFunction body = {});
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

  // Whether the operator still has the schema that the plan was made for; a library may define it again.
  bool fits(const c10::OperatorHandle& op) const { return op.schema() == schema_; }

 private:
  class Invocation;

  OperatorEntry& entry_;
  const c10::FunctionSchema schema_;
  const ArgumentPlan plan_;
  const c10::KernelFunction body_;
};

// An operator with the boxed launch that serves as the careful path of its typed kernel.
struct BoxedOperator {
  c10::OperatorHandle handle;
  c10::BoxedKernel kernel;
  static BoxedOperator make(const char* name, const char* overload, c10::KernelFunction body);
};

}  // namespace neuron::launch
