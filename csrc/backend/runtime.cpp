#include "backend/runtime.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "device/heap.h"
#include "device/topology.h"

namespace neuron::backend {

thread_local int current_device_index NEURON_TLS = 0;

namespace {

std::atomic<bool> started{false};
std::atomic<bool> bad_fork{false};
void (*bad_fork_hook)() = nullptr;

void after_fork_in_child() {
  device::heap::unlock_all();
  bad_fork = true;
  if (bad_fork_hook) bad_fork_hook();
}

void start() {
  device::topology();
  pthread_atfork(&device::heap::lock_all, &device::heap::unlock_all, &after_fork_in_child);
  started = true;
}

}  // namespace

int device_count() {
  static const int count = device::topology().device_count;
  return count;
}

void check_device_index(int64_t index) {
  TORCH_CHECK(index >= 0 && index < device_count(), "Invalid device id: neuron:", index,
              " does not exist; this instance (", device::topology().instance, ") has ", device_count(),
              " neuron device(s), numbered from 0");
}

c10::Device resolve_device(c10::Device device) {
  if (!device.has_index()) return {kNeuron, static_cast<c10::DeviceIndex>(current_device_index)};
  check_device_index(device.index());
  return device;
}

void ensure_started() {
  TORCH_CHECK(!bad_fork,
              "Cannot re-initialize Neuron runtime in forked subprocess. To use neuron devices with multiprocessing, "
              "you must use the 'spawn' start method");
  static std::once_flag once;
  std::call_once(once, &start);
}

bool is_started() { return started; }
bool is_in_bad_fork() { return bad_fork; }
void set_bad_fork_hook(void (*hook)()) { bad_fork_hook = hook; }

}  // namespace neuron::backend
