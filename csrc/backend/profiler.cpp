#include "backend/profiler.h"

#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>
#include <memory>

#include "backend/runtime.h"
#include "device/topology.h"

namespace neuron::backend {
namespace {

int64_t (*device_ns_of_thread)() = nullptr;

// The profiler records an event where an operator begins and one where it ends, on the operator's thread. What the
// device's clock of that thread has gained in between is the operator's time.
struct Stubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, torch::profiler::impl::ProfilerVoidEventStub* event,
              int64_t* cpu_ns) const override {
    if (device) *device = static_cast<c10::DeviceIndex>(current_device_index);
    *event = std::make_shared<int64_t>(device_ns_of_thread());
    if (cpu_ns) {
      *cpu_ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count();
    }
  }
  float elapsed(const torch::profiler::impl::ProfilerVoidEventStub* start,
                const torch::profiler::impl::ProfilerVoidEventStub* end) const override {
    const auto ns = *static_cast<const int64_t*>(end->get()) - *static_cast<const int64_t*>(start->get());
    return static_cast<float>(ns) / 1000;
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> visit) const override {
    for (int device = 0; device < device_count(); ++device) visit(device);
  }
  void synchronize() const override {}
};

}  // namespace

void register_profiler(int64_t (*device_ns)()) {
  device_ns_of_thread = device_ns;
  static auto* stubs = new Stubs;
  torch::profiler::impl::registerPrivateUse1Methods(stubs);
}

}  // namespace neuron::backend
