// The cost model: what one op takes on the device. Pure: it reads nothing but its arguments, and changes nothing.
#pragma once

#include <string_view>

#include "device/cost/chip.h"
#include "device/cost/work.h"

namespace neuron::device::cost {

// Without launch. An op whose outputs are all empty takes no time, nor does a class that is free; kNone gives an
// estimate that is not known.
Estimate estimate(const Work& work, const Chip& chip);

// ns that `bytes` take between host and device.
double host_transfer_ns(double bytes, const Chip& chip);
// ns of an op that runs on the host, without the host's own work: its inputs' way there, waiting for what was before
// it, its results' way back.
double fallback_ns(double to_host_bytes, double to_device_bytes, const Chip& chip);

std::string_view class_name(CostClass cost_class);
// Throws std::invalid_argument that lists the classes.
CostClass class_of(std::string_view name);
std::string_view bound_name(Bound bound);

}  // namespace neuron::device::cost
