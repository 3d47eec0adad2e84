// The device guard: how PyTorch switches devices and streams, and records events.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "backend/runtime.h"
#include "backend/streams.h"
#include "device/clock.h"

namespace neuron::backend {
namespace {

struct NeuronGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kNeuron; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device previous = getDevice();
    setDevice(device);
    return previous;
  }
  c10::Device getDevice() const override { return {kNeuron, static_cast<c10::DeviceIndex>(current_device_index)}; }
  void setDevice(c10::Device device) const override { current_device_index = resolve_device(device).index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) current_device_index = device.index();
  }
  c10::Stream getStream(c10::Device device) const override { return current_stream(resolve_device(device).index()); }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(resolve_device(device).index());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return new_stream(resolve_device(device).index());
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    return new_stream(resolve_device(device).index());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(static_cast<intptr_t>(stream.id()));
  }

  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Event{};
    *static_cast<Event*>(*event) = record_event(stream);
  }
  // Work is complete once issued: every query is true, and only the simulated clocks wait.
  void block(void* event, const c10::Stream& stream) const override {
    if (!event) return;
    device::clock::wait(stream.device_index(), stream.id(), static_cast<Event*>(event)->simulated_ns);
  }
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void* event) const override {
    if (event) device::clock::synchronise_until(static_cast<Event*>(event)->simulated_ns);
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& stream) const override {
    device::clock::synchronise_stream(stream.device_index(), stream.id());
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    check_device_index(index);
    device::clock::synchronise_device(index);
  }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    const auto* start = static_cast<Event*>(first);
    const auto* end = static_cast<Event*>(second);
    TORCH_CHECK(start && end, "Event has not been recorded: call record() on both events before elapsed_time()");
    TORCH_CHECK(start->device == end->device,
                "elapsed_time: the events were recorded on different devices, neuron:", static_cast<int>(start->device),
                " and neuron:", static_cast<int>(end->device), "; record both on streams of one device");
    return elapsed_ms(*start, *end);
  }

  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(device_count()); }
  // The dtypes that tensors on the device can have: those that copies convert. PyTorch itself warns about complex32.
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    resolve_device(device);
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    for (const c10::ScalarType dtype : {c10::kByte,
                                        c10::kChar,
                                        c10::kShort,
                                        c10::kInt,
                                        c10::kLong,
                                        c10::kHalf,
                                        c10::kFloat,
                                        c10::kDouble,
                                        c10::kComplexFloat,
                                        c10::kComplexDouble,
                                        c10::kBool,
                                        c10::kBFloat16,
                                        c10::kFloat8_e5m2,
                                        c10::kFloat8_e4m3fn,
                                        c10::kFloat8_e5m2fnuz,
                                        c10::kFloat8_e4m3fnuz,
                                        c10::kFloat8_e8m0fnu,
                                        c10::kUInt16,
                                        c10::kUInt32,
                                        c10::kUInt64}) {
      capability.capability_data.capability_bits |= uint64_t{1} << static_cast<int>(dtype);
    }
    return capability;
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, NeuronGuard)

}  // namespace
}  // namespace neuron::backend
