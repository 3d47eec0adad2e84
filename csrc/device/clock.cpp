#include "clock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "environment.h"

namespace neuron::device::clock {
namespace {

// The end of the work on one stream. The host's clock and the ends only ever grow, so each is one atomic number, and an
// op takes one step on either: threads that issue at once are ordered by these steps.
struct Timeline {
  std::atomic<int64_t> end_ns{0};
  std::atomic<int32_t> device{-1};  // -1: never used
};

constexpr size_t kDevices = 128;
constexpr size_t kChunk = 256;
constexpr size_t kChunks = 4096;

using Chunk = std::array<Timeline, kChunk>;

struct Clocks {
  std::atomic<int64_t> host_ns{0};
  std::atomic<int64_t> issue_ns{0};
  std::atomic<int64_t> synchronise_ns{0};
  std::atomic<bool> blocking{false};
  std::array<Timeline, kDevices> defaults;
  std::array<std::atomic<Chunk*>, kChunks> chunks{};
};

// Never destroyed: threads may outlive static objects.
Clocks& state = *new Clocks;

Chunk& chunk_of(size_t index) {
  std::atomic<Chunk*>& slot = state.chunks[index / kChunk];
  Chunk* chunk = slot.load(std::memory_order_acquire);
  if (!chunk) {
    auto made = std::make_unique<Chunk>();
    if (slot.compare_exchange_strong(chunk, made.get(), std::memory_order_acq_rel)) chunk = made.release();
  }
  return *chunk;
}

Timeline& timeline(int device, int64_t stream) {
  if (stream == 0) return state.defaults[static_cast<size_t>(device) % kDevices];
  // After a million streams the first one's place serves again: a new stream then starts where the old one ended.
  const size_t index = static_cast<size_t>(stream) % (kChunk * kChunks);
  Timeline& found = chunk_of(index)[index % kChunk];
  if (found.device.load(std::memory_order_relaxed) != device) found.device.store(device, std::memory_order_relaxed);
  return found;
}

// Not before `ns`.
void raise(std::atomic<int64_t>& clock, int64_t ns) {
  int64_t now = clock.load(std::memory_order_relaxed);
  while (now < ns && !clock.compare_exchange_weak(now, ns, std::memory_order_relaxed)) {
  }
}

Interval append(Timeline& line, int64_t issued_ns, int64_t cost_ns) {
  int64_t end = line.end_ns.load(std::memory_order_relaxed);
  int64_t start;
  do {
    start = std::max(end, issued_ns);
  } while (!line.end_ns.compare_exchange_weak(end, start + cost_ns, std::memory_order_relaxed));
  return {start, start + cost_ns};
}

int64_t issue() {
  const int64_t cost = state.issue_ns.load(std::memory_order_relaxed);
  return cost == 0 ? state.host_ns.load(std::memory_order_relaxed)
                   : state.host_ns.fetch_add(cost, std::memory_order_relaxed) + cost;
}

}  // namespace

void set_host_costs(const HostCosts& costs) {
  state.issue_ns = costs.issue_ns;
  state.synchronise_ns = costs.synchronise_ns;
  state.blocking = costs.blocking;
}

HostCosts host_costs() { return {state.issue_ns, state.synchronise_ns, state.blocking}; }

Interval submit(int device, int64_t stream, int64_t cost_ns) {
  const Interval interval = append(timeline(device, stream), issue(), cost_ns);
  if (state.blocking.load(std::memory_order_relaxed)) [[unlikely]] {
    raise(state.host_ns, interval.end_ns);
    state.host_ns.fetch_add(state.synchronise_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return interval;
}

Interval transfer(int device, int64_t stream, int64_t cost_ns, bool wait) {
  const Interval interval = append(timeline(device, stream), issue(), cost_ns);
  if (wait) raise(state.host_ns, interval.end_ns);
  return interval;
}

void synchronise_stream(int device, int64_t stream) { synchronise_until(stream_end(device, stream)); }

void synchronise_device(int device) {
  int64_t end = stream_end(device, 0);
  for (const std::atomic<Chunk*>& slot : state.chunks) {
    const Chunk* chunk = slot.load(std::memory_order_acquire);
    if (!chunk) continue;
    for (const Timeline& line : *chunk) {
      if (line.device.load(std::memory_order_relaxed) == device) end = std::max(end, line.end_ns.load());
    }
  }
  synchronise_until(end);
}

void synchronise_until(int64_t event_ns) { raise(state.host_ns, event_ns); }

int64_t record(int device, int64_t stream) { return std::max(stream_end(device, stream), host_now()); }

void wait(int device, int64_t stream, int64_t event_ns) { raise(timeline(device, stream).end_ns, event_ns); }

int64_t host_now() { return state.host_ns.load(std::memory_order_relaxed); }

int64_t stream_end(int device, int64_t stream) {
  return timeline(device, stream).end_ns.load(std::memory_order_relaxed);
}

void advance_host(int64_t ns) { state.host_ns.fetch_add(ns, std::memory_order_relaxed); }

void reset() {
  state.host_ns = 0;
  for (Timeline& line : state.defaults) line.end_ns = 0;
  for (const std::atomic<Chunk*>& slot : state.chunks) {
    Chunk* chunk = slot.load(std::memory_order_acquire);
    if (!chunk) continue;
    for (Timeline& line : *chunk) line.end_ns = 0;
  }
}

bool enabled() {
  static const bool value = environment_flag("TORCH_NEURON_SIM_TIME", true);
  return value;
}

bool launch_blocking() {
  static const bool value = environment_flag("NEURON_LAUNCH_BLOCKING", false);
  return value;
}

}  // namespace neuron::device::clock
