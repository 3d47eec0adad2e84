// Streams and events. Values are computed at the call, so work on a stream is complete once issued; the objects keep
// identity and order.
#pragma once

#include <c10/core/Stream.h>

namespace neuron::backend {

c10::Stream current_stream(int device);
c10::Stream default_stream(int device);
c10::Stream new_stream(int device);
// Makes `stream` current on its device for this thread; returns the one that was.
c10::Stream exchange_stream(c10::Stream stream);

// Milliseconds on the host's monotonic clock.
double now_ms();

struct Event {
  c10::DeviceIndex device;
  double time_ms;
};

}  // namespace neuron::backend
