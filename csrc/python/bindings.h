#pragma once

#include <pybind11/pybind11.h>

namespace neuron::python {

void bind_device(pybind11::module_& module);      // devices, memory, random numbers
void bind_hardware(pybind11::module_& module);    // topology, the chip, clocks
void bind_cost(pybind11::module_& module);        // cost model
void bind_cost_rules(pybind11::module_& module);  // cost classes of operators
void bind_tracking(pybind11::module_& module);    // coverage, policies, ledger
void bind_compile_cache(pybind11::module_& module);

}  // namespace neuron::python
