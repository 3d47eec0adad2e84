#include "launch/generator_swap.h"

#include <ATen/CPUGeneratorImpl.h>

#include "backend/allocator.h"
#include "backend/generator.h"

namespace neuron::launch {
namespace {

c10::GeneratorImpl& cpu_default() { return *at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl(); }
c10::GeneratorImpl& own(int device) {
  return *backend::cpu_generator_for(std::nullopt, device).unsafeGetGeneratorImpl();
}

}  // namespace

GeneratorSwap::GeneratorSwap(int device) : device_(device) {
  const backend::PlacementGuard on_host(backend::Placement{});
  cpu_state_ = cpu_default().get_state();
  cpu_default().set_state(*own(device).get_state());
}

GeneratorSwap::~GeneratorSwap() {
  const backend::PlacementGuard on_host(backend::Placement{});
  own(device_).set_state(*cpu_default().get_state());
  cpu_default().set_state(*cpu_state_);
}

}  // namespace neuron::launch
