#include "launch/intraop_threads.h"

#include <ATen/Parallel.h>
#include <pthread.h>

#include <atomic>
#include <string_view>

namespace neuron::launch {

thread_local ThreadKind thread_kind NEURON_TLS = ThreadKind::kUnknown;

namespace {

std::atomic<int> callers_threads{0};

}  // namespace

ThreadKind find_thread_kind() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  // The engine's name for its device threads.
  return std::string_view(name).starts_with("pt_autograd_") ? ThreadKind::kAutograd : ThreadKind::kCaller;
}

void remember_threads() { callers_threads.store(at::get_num_threads(), std::memory_order_relaxed); }

void follow_caller() {
  const int wanted = callers_threads.load(std::memory_order_relaxed);
  if (wanted > 0 && at::get_num_threads() != wanted) at::set_num_threads(wanted);
}

}  // namespace neuron::launch
