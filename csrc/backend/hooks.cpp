// What PyTorch's accelerator-generic code asks of the device.
#include "backend/hooks.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "backend/allocator.h"
#include "backend/generator.h"
#include "backend/pinned_memory.h"
#include "backend/runtime.h"

namespace neuron::backend {
namespace {

struct NeuronHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  void init() const override { ensure_started(); }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return is_started(); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override { return default_generator(device); }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override { return new_generator(device); }
  at::Device getDeviceFromPtr(void* data) const override {
    TORCH_CHECK(device::AddressSpace::in_device_range(data), "The pointer ", data,
                " is not an address of a neuron device");
    return {kNeuron, static_cast<c10::DeviceIndex>(device::AddressSpace::device_of(data))};
  }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(device_count()); }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    check_device_index(device);
    current_device_index = device;
  }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(current_device_index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const auto previous = getCurrentDevice();
    setCurrentDevice(device);
    return previous;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? getCurrentDevice() : exchangeDevice(device);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t nbytes) const override {
    resize_storage(storage.unsafeGetStorageImpl(), nbytes);
  }
};

}  // namespace

void register_hooks() { at::RegisterPrivateUse1HooksInterface(new NeuronHooks); }

}  // namespace neuron::backend
