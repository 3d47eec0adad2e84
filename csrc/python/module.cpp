// torch_neuron_sim._C
#include <pybind11/pybind11.h>

#include "backend/hooks.h"
#include "backend/profiler.h"
#include "backend/runtime.h"
#include "launch/coverage.h"
#include "launch/storage_alias.h"
#include "launch/timing.h"
#include "python/bindings.h"
#include "python/source_hooks.h"

PYBIND11_MODULE(_C, module) {
  module.doc() = "The simulated neuron device, as PyTorch's PrivateUse1 backend.";
  neuron::launch::install_alias_hooks();
  neuron::backend::set_bad_fork_hook(&neuron::launch::make_every_call_careful);
  neuron::backend::register_hooks();
  neuron::backend::register_profiler(&neuron::launch::device_ns_of_this_thread);
  neuron::python::install_source_hooks();
  neuron::python::bind_device(module);
  neuron::python::bind_hardware(module);
  neuron::python::bind_cost(module);
  neuron::python::bind_cost_rules(module);
  neuron::python::bind_tracking(module);
  neuron::python::bind_compile_cache(module);
}
