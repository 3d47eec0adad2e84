// Simulated time. Values are computed at the call, so nothing here waits: it keeps what the clock of the host and those
// of the device's streams would show, in nanoseconds since the process started.
//
// The host is one for the process. Its clock advances when it issues an op, and when it waits; time that the program
// itself takes, in Python or in a CPU kernel, is not in it unless somebody adds it (advance_host).
// An op starts when the host has issued it and what came before it on its stream has ended. Different streams overlap,
// also where they use one engine.
// All functions may be called by any thread at any time, and take no lock. Streams are numbered from 0, the default one
// of each device, and those from 1 on by one count for all devices.
#pragma once

#include <cstdint>

namespace neuron::device::clock {

struct Interval {
  int64_t start_ns;
  int64_t end_ns;
};

// What issuing costs the host.
struct HostCosts {
  int64_t issue_ns = 0;        // per op
  int64_t synchronise_ns = 0;  // per op, in blocking mode
  bool blocking = false;       // the host waits for every op
};
void set_host_costs(const HostCosts& costs);
HostCosts host_costs();

// The host issues work of `cost_ns` to a stream. In blocking mode it waits for the end.
Interval submit(int device, int64_t stream, int64_t cost_ns);
// A copy between host and device, in the order of the stream. The host waits for it if `wait`.
Interval transfer(int device, int64_t stream, int64_t cost_ns, bool wait);

// The host waits.
void synchronise_stream(int device, int64_t stream);
void synchronise_device(int device);
void synchronise_until(int64_t event_ns);

// What an event that is recorded now will show: when all earlier work on the stream has ended, and no sooner than now.
int64_t record(int device, int64_t stream);
// Later work on the stream starts after that.
void wait(int device, int64_t stream, int64_t event_ns);

// The host's clock; the end of what is on a stream (in the past when the stream is idle).
int64_t host_now();
int64_t stream_end(int device, int64_t stream);
// The host is busy with something else.
void advance_host(int64_t ns);
// Everything at 0 again. Not to be called while other threads use the clocks.
void reset();

// Whether ops are timed: TORCH_NEURON_SIM_TIME, read once. Throws std::invalid_argument that names the legal values.
bool enabled();
// NEURON_LAUNCH_BLOCKING, read once. Throws likewise.
bool launch_blocking();

}  // namespace neuron::device::clock
