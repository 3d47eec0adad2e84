#include "backend/streams.h"

#include <atomic>
#include <chrono>
#include <unordered_map>

#include "backend/runtime.h"
#include "device/clock.h"

namespace neuron::backend {
namespace {

// Per thread and device; a device that is absent has its default stream current.
std::unordered_map<int, c10::StreamId>& current_ids() {
  static thread_local std::unordered_map<int, c10::StreamId> ids;
  return ids;
}

c10::Stream make_stream(int device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNeuron, static_cast<c10::DeviceIndex>(device)), id);
}

}  // namespace

c10::StreamId current_stream_id(int device) {
  const auto& ids = current_ids();
  if (ids.empty()) return 0;
  const auto found = ids.find(device);
  return found == ids.end() ? 0 : found->second;
}

c10::Stream current_stream(int device) { return make_stream(device, current_stream_id(device)); }

c10::Stream default_stream(int device) { return make_stream(device, 0); }

c10::Stream new_stream(int device) {
  static std::atomic<c10::StreamId> next{1};
  return make_stream(device, next++);
}

c10::Stream exchange_stream(c10::Stream stream) {
  const c10::Stream previous = current_stream(stream.device_index());
  current_ids()[stream.device_index()] = stream.id();
  return previous;
}

Event record_event(c10::Stream stream) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {stream.device_index(), device::clock::record(stream.device_index(), stream.id()),
          std::chrono::duration<double, std::milli>(now).count()};
}

double elapsed_ms(const Event& start, const Event& end) {
  if (!device::clock::enabled()) return end.host_ms - start.host_ms;
  return static_cast<double>(end.simulated_ns - start.simulated_ns) / 1e6;
}

}  // namespace neuron::backend
