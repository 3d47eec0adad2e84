// The one hook by which launch asks Python for a source line and a warning.
#pragma once

#include <pybind11/pybind11.h>

namespace neuron::python {

void install_source_hooks();
// `function(kind, op, reason, filename, line, function)`; None takes it away.
void set_warning_hook(pybind11::object function);

}  // namespace neuron::python
