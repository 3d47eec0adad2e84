// What the user wants to happen on a fallback and on float64. Process-wide: backward runs in other threads.
#pragma once

#include <string>

namespace neuron::launch {

enum class FallbackPolicy { kWarn, kSilent, kError };
enum class Float64Policy { kWarn, kSilent, kError, kExact };

FallbackPolicy fallback_policy();
Float64Policy float64_policy();
void set_fallback_policy(FallbackPolicy policy);
void set_float64_policy(Float64Policy policy);

// TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1: an op that has a kernel which refuses raises instead of falling
// back (TorchNeuron snapshot, python_ops/base.py). Read at each refusal, as the product does.
bool only_unimplemented_ops_fall_back();

}  // namespace neuron::launch
