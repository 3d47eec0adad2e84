#include "launch/policy.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "launch/coverage.h"

namespace neuron::launch {
namespace {

std::atomic<FallbackPolicy> fallback{FallbackPolicy::kWarn};
std::atomic<Float64Policy> float64{Float64Policy::kWarn};

}  // namespace

FallbackPolicy fallback_policy() { return fallback; }
Float64Policy float64_policy() { return float64; }
void set_fallback_policy(FallbackPolicy policy) { fallback = policy; }

void set_float64_policy(Float64Policy policy) {
  float64 = policy;
  refresh_careful_dtypes();
}

bool only_unimplemented_ops_fall_back() {
  const char* value = std::getenv("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS");
  return value && std::string_view(value) == "1";
}

}  // namespace neuron::launch
