#include "launch/decision.h"

#include <c10/util/Exception.h>

#include "launch/ledger.h"
#include "launch/policy.h"

namespace neuron::launch {
namespace {

std::string refusal_reason(DtypeSet refused) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto dtype = static_cast<c10::ScalarType>(i);
    if (refused & dtype_bit(dtype)) return std::string("its kernel does not take ") + c10::toString(dtype);
  }
  return "its kernel refuses the arguments";
}

}  // namespace

const char* route_name(Route route) {
  switch (route) {
    case Route::kNative:
      return "native";
    case Route::kFallback:
      return "fallback";
    case Route::kUnsupported:
      return "unsupported";
  }
  return "";
}

Decision decide(const OperatorEntry& entry, DtypeSet dtypes) {
  switch (entry.route) {
    case Route::kFallback:
      return {Route::kFallback, "no native kernel"};
    case Route::kUnsupported:
      return {Route::kUnsupported, "no kernel on the device and none on CPU in the real product"};
    case Route::kNative:
      break;
  }
  if (const DtypeSet refused = dtypes & entry.refused) return {Route::kFallback, refusal_reason(refused)};
  return {};
}

CallSite announce(OperatorEntry& entry, const Decision& decision) {
  if (!entry.recorded) return {};
  if (entry.route == Route::kNative && only_unimplemented_ops_fall_back()) {
    TORCH_CHECK(false, "CPU fallback disabled because TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1. Operation ",
                entry.recorded_as, " failed: ", decision.reason);
  }
  TORCH_CHECK(fallback_policy() != FallbackPolicy::kError, entry.recorded_as, " would fall back to CPU (",
              decision.reason,
              "), and the fallback policy is 'error'. Replace the op, or allow it with "
              "torch_neuron_sim.fallback_policy('warn') or TORCH_NEURON_SIM_FALLBACK=warn");
  CallSite site = source_hooks().capture();
  if (fallback_policy() == FallbackPolicy::kWarn) {
    const bool unsupported = decision.route == Route::kUnsupported;
    ledger::notify_once(entry, unsupported ? Notice::kUnsupported : Notice::kFallback, decision.reason, site);
  }
  return site;
}

CallSite announce_float64(OperatorEntry& entry) {
  TORCH_CHECK(
      float64_policy() != Float64Policy::kError, entry.recorded_as,
      " would compute float64 as float32, as the device has no float64, and the float64 policy is 'error'. Cast "
      "to torch.float32, or allow it with torch_neuron_sim.float64_policy('warn') or "
      "TORCH_NEURON_SIM_FLOAT64=warn");
  CallSite site = source_hooks().capture();
  if (float64_policy() == Float64Policy::kWarn) {
    ledger::notify_once(entry, Notice::kFloat64, "float64 is computed as float32", site);
  }
  return site;
}

}  // namespace neuron::launch
