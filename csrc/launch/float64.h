// The float64 rule: storage stays float64, native kernels compute in float32 and widen the result, with one warning.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "launch/argument_plan.h"
#include "launch/operator_entry.h"

namespace neuron::launch {

// Whether the rule applies to a native call with these arguments: it computes on float64 tensors, or was asked for a
// float64 result. Calls that mix dimensioned float64 and other floating tensors are left exact, so that PyTorch's own
// dtype errors stay what they are.
bool is_demoted(const ArgumentPlan& plan, const c10::IValue* arguments);

// The conversion to make then.
const std::vector<ComputeDtype>& float64_as_float32();

}  // namespace neuron::launch
