#include "launch/registration.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "launch/boxed.h"

namespace neuron::launch {
namespace {

std::vector<std::string>& by_hand() {
  static auto* names = new std::vector<std::string>;
  return *names;
}

c10::OperatorName operator_name(const std::string& qualified) {
  const size_t dot = qualified.find('.', qualified.find("::"));
  if (dot == std::string::npos) return {qualified, ""};
  return {qualified.substr(0, dot), qualified.substr(dot + 1)};
}

// The catch-all: operators that no neuron kernel is registered for, of whatever library, if they have a CPU kernel.
void run_unregistered(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  static auto* launches = new std::unordered_map<c10::OperatorName, std::shared_ptr<BoxedLaunch>>;
  static std::mutex mutex;
  std::shared_ptr<BoxedLaunch> launch;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    auto& slot = (*launches)[op.operator_name()];
    if (!slot || !slot->fits(op)) {
      TORCH_CHECK_NOT_IMPLEMENTED(
          op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), op.operator_name(),
          " has no kernel for neuron and none for CPU to fall back to; register a CPU kernel for it, or do this step "
          "with other ops");
      slot = std::make_shared<BoxedLaunch>(op);
    }
    launch = slot;
  }
  (*launch)(op, keys, stack);
}

std::vector<std::string> register_for(c10::DispatchKey key, const std::vector<std::string>& names) {
  // Kept for the life of the process: dropping it would take the kernels away.
  auto* library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    const auto op = c10::Dispatcher::singleton().findSchema(operator_name(name));
    if (!op) {
      unknown.push_back(name);
      continue;
    }
    library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<BoxedLaunch>(*op)));
  }
  return unknown;
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_unregistered>());
}

}  // namespace

std::string qualified_name(const char* name, const char* overload) {
  std::string qualified = name;
  if (*overload) qualified.append(".").append(overload);
  return qualified;
}

void note_registered_by_hand(std::string qualified) { by_hand().push_back(std::move(qualified)); }
const std::vector<std::string>& registered_by_hand() { return by_hand(); }

std::vector<std::string> register_boxed(const std::vector<std::string>& names) {
  return register_for(c10::DispatchKey::PrivateUse1, names);
}

std::vector<std::string> register_boxed_nested(const std::vector<std::string>& names) {
  return register_for(c10::DispatchKey::NestedTensorPrivateUse1, names);
}

}  // namespace neuron::launch
