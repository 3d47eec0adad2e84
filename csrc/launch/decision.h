// Which way a call goes, and why; made on the careful path.
#pragma once

#include <string>

#include "launch/operator_entry.h"

namespace neuron::launch {

struct Decision {
  Route route = Route::kNative;
  std::string reason;  // empty for native
};

// From the op's row and the dtypes of its arguments.
Decision decide(const OperatorEntry& entry, DtypeSet dtypes);

// Applies the user's policies before anything runs: warns once, or raises. Returns the site to record.
CallSite announce(OperatorEntry& entry, const Decision& decision);
CallSite announce_float64(OperatorEntry& entry);

const char* route_name(Route route);

}  // namespace neuron::launch
