// How many threads a kernel may use.
//
// CPU's backward runs on the thread that called it. Here autograd runs it on a thread of the device, which would keep
// the number of threads that it found when it first computed; results depend on that number, and so does speed.
#pragma once

#include <c10/core/GradMode.h>

#include "backend/runtime.h"

namespace neuron::launch {

enum class ThreadKind : signed char { kUnknown, kCaller, kAutograd };
extern thread_local ThreadKind thread_kind NEURON_TLS;

// Remembers, on a thread that calls ops, its number of intra-op threads.
void remember_threads();
// Takes over, on a thread of autograd, what was remembered last.
void follow_caller();
ThreadKind find_thread_kind();

inline void use_callers_threads() {
  if (C10_UNLIKELY(thread_kind == ThreadKind::kUnknown)) thread_kind = find_thread_kind();
  if (thread_kind == ThreadKind::kCaller) {
    if (c10::GradMode::is_enabled()) remember_threads();  // else there will be no backward
  } else {
    follow_caller();
  }
}

}  // namespace neuron::launch
