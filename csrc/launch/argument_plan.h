// What the schema says of each argument, worked out once per operator.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
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
  bool counted = false;       // a list whose writes the launch counts (see counted_lists)
  bool number = false;        // Scalar, or a list of them
};

struct ArgumentPlan {
  explicit ArgumentPlan(const c10::OperatorHandle& op);

  std::vector<PlannedArgument> arguments;
  size_t returns = 0;
  bool draws = false;  // draws_without_generator
};

// Whether the op draws random numbers, but has no Generator argument.
bool draws_without_generator(const c10::OperatorHandle& op);

// Bits of the positions of tensor lists that the op writes through other ops (foreach): on CPU those count the writes
// in the version counters that autograd checks; below autograd, as here, they do not.
uint64_t counted_lists(const c10::OperatorHandle& op);

}  // namespace neuron::launch
