// Native calls with a dtype that the device has and CPU's kernel lacks: computed in a dtype that it has. The table
// coverage/compute_dtypes.tsv says which; no warning, as the device computes these itself.
#pragma once

#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>

#include <vector>

#include "launch/argument_plan.h"
#include "launch/operator_entry.h"

namespace neuron::launch {

// Whether a rule applies to one of the arguments (CPU aliases).
bool needs_compute_dtype(const ArgumentPlan& plan, const std::vector<ComputeDtype>& rules,
                         const c10::IValue* arguments);

// Runs `kernel` on the arguments on top of the stack. What CPU can compute stays CPU's own: only when its kernel
// refuses the dtype (NotImplementedError) is the call made again on converted arguments, except by rules with `always`.
void run_in_compute_dtype(const ArgumentPlan& plan, const std::vector<ComputeDtype>& rules, torch::jit::Stack* stack,
                          c10::function_ref<void()> kernel);

}  // namespace neuron::launch
