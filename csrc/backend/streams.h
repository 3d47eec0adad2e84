// Streams and events. Values are computed at the call, so work on a stream is complete once issued; the objects keep
// identity and order, and move the simulated clocks (device/clock.h).
#pragma once

#include <c10/core/Stream.h>

namespace neuron::backend {

c10::Stream current_stream(int device);
c10::StreamId current_stream_id(int device);
c10::Stream default_stream(int device);
c10::Stream new_stream(int device);
// Makes `stream` current on its device for this thread; returns the one that was.
c10::Stream exchange_stream(c10::Stream stream);

struct Event {
  c10::DeviceIndex device;
  int64_t simulated_ns;  // when the work before it on its stream ends
  double host_ms;        // on the host's monotonic clock, when it was recorded
};

Event record_event(c10::Stream stream);
// Simulated milliseconds, or with TORCH_NEURON_SIM_TIME=0 those of the host.
double elapsed_ms(const Event& start, const Event& end);

}  // namespace neuron::backend
