// Passes and flags of a cost class by name, as the table of cost classes and Python write them.
#pragma once

#include <map>
#include <string>

#include "device/cost/work.h"

namespace neuron::python {

using CostAttributes = std::map<std::string, double>;

// Work of that class without operands. Throws std::invalid_argument for an unknown class or attribute.
device::cost::Work make_work(const std::string& cost_class, const CostAttributes& attributes);
// Those that are not 0.
CostAttributes attributes_of(const device::cost::Work& work);

}  // namespace neuron::python
