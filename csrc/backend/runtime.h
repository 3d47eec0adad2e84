// The state of the simulated runtime in this process: which device is current, whether it has started, and whether the
// process was forked from one that had started it.
#pragma once

#include <c10/core/Device.h>

namespace neuron::backend {

constexpr c10::DeviceType kNeuron = c10::DeviceType::PrivateUse1;

// A thread-local in the static TLS block: read on every op, so it must not cost a call.
#define NEURON_TLS __attribute__((tls_model("initial-exec")))

extern thread_local int current_device_index NEURON_TLS;

int device_count();

// The one place that refuses a device index. Tensors and `device=` arguments: RuntimeError.
void check_device_index(int64_t index);

// `device` with the current index filled in when it has none; refuses an index out of range.
c10::Device resolve_device(c10::Device device);

// Starts the runtime (idempotent). RuntimeError in a process forked after the parent had started it.
void ensure_started();
bool is_started();
bool is_in_bad_fork();

// Called in a forked child of a started parent, before any of its code runs.
void set_bad_fork_hook(void (*hook)());

}  // namespace neuron::backend
