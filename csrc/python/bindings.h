#pragma once

#include <pybind11/pybind11.h>

namespace neuron::python {

void bind_device(pybind11::module_& module);    // devices, memory, random numbers
void bind_tracking(pybind11::module_& module);  // coverage, policies, ledger

}  // namespace neuron::python
