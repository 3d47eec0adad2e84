// What calls take on the simulated device, and the simulated clocks. Estimates: device/cost/estimate.h.
#pragma once

#include <cstdint>

#include "device/cost/work.h"
#include "launch/compile_key.h"
#include "launch/operator_entry.h"

namespace neuron::launch {

// Of one call.
struct Duration {
  enum class Kind : uint8_t {
    kUntimed,  // the cost model has no class for the op
    kFree,
    kDevice,
    kHost,      // the host waits for a transfer
    kFallback,  // inputs to the host, results back
  };
  Kind kind = Kind::kUntimed;
  device::cost::Bound bound = device::cost::Bound::kNothing;
  int64_t ns = 0;  // with launch
  double flops = 0;
  double bytes = 0;
};

Duration duration_of(const OperatorEntry& entry, const KeyDescription& description);
// A copy between host and device.
Duration transfer_duration(int64_t bytes);
Duration fallback_duration(int64_t to_host, int64_t to_device);

void add_calls(TimeTotals& totals, const Duration& duration, int64_t calls);

// Moves the clocks of the current stream of `device` and, where it waits, of the host. Nothing with
// TORCH_NEURON_SIM_TIME=0.
void run_on_clock(int device, const OperatorEntry& entry, const Duration& duration, bool host_waits = true);
// The host compiles a program.
void compile_on_clock();
// What this thread's calls have taken so far, in ns.
int64_t device_ns_of_this_thread();

}  // namespace neuron::launch
