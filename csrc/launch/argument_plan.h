// What the schema says of each argument, worked out once per operator.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstdint>
#include <vector>

namespace neuron::launch {

enum class ArgumentKind : uint8_t {
  kPlain,
  kTensor,      // Tensor or Tensor?
  kTensorList,  // Tensor[]
  kIndexList,   // Tensor?[]
  kGenerator,
  kDevice,
  kDtype,  // ScalarType? named dtype
  kPinMemory,
};

struct PlannedArgument {
  ArgumentKind kind = ArgumentKind::kPlain;
  bool written = false;       // the schema lets the kernel write to it
  bool host_allowed = false;  // may be a CPU tensor of any shape
};

struct ArgumentPlan {
  explicit ArgumentPlan(const c10::OperatorHandle& op);

  std::vector<PlannedArgument> arguments;
  size_t returns = 0;
  bool draws_without_generator = false;  // draws random numbers, but has no Generator argument
};

// The last of these alone, by name.
bool draws_without_generator(const char* name, const char* overload);

}  // namespace neuron::launch
