// The simulated hardware: topology, the chip's constants, the clocks.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>

#include "device/clock.h"
#include "device/cost/chip.h"
#include "device/topology.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

namespace cost = device::cost;
namespace clock = device::clock;

py::dict topology() {
  const device::Topology& topology = device::topology();
  py::dict result;
  result["instance"] = topology.instance;
  result["family"] = topology.family;
  result["chip"] = topology.chip;
  result["chips"] = topology.chips;
  result["cores_per_chip"] = topology.cores_per_chip;
  result["lnc"] = topology.lnc;
  result["logical_cores"] = topology.logical_cores;
  result["first_core"] = topology.first_core;
  result["device_count"] = topology.device_count;
  result["devices_per_stack"] = topology.devices_per_stack;
  result["stack_bytes"] = topology.stack_bytes;
  return result;
}

std::map<std::string, double> get_chip() {
  std::map<std::string, double> result;
  for (const cost::ChipField& field : cost::chip_fields()) result[field.name] = cost::chip().*field.value;
  return result;
}

void set_chip(std::map<std::string, double> values) {
  cost::Chip chip{};
  for (const cost::ChipField& field : cost::chip_fields()) {
    const auto found = values.find(field.name);
    if (found == values.end())
      throw py::value_error("set_chip: there is no constant '" + std::string(field.name) + "'");
    chip.*field.value = found->second;
    values.erase(found);
  }
  if (!values.empty()) throw py::value_error("set_chip: '" + values.begin()->first + "' is no constant of a chip");
  cost::set_chip(chip);
  clock::set_host_costs({.issue_ns = static_cast<int64_t>(chip.host_issue),
                         .synchronise_ns = static_cast<int64_t>(chip.synchronise),
                         .blocking = clock::launch_blocking()});
}

std::pair<int64_t, int64_t> as_pair(const clock::Interval& interval) { return {interval.start_ns, interval.end_ns}; }

void check_stream(int device, int64_t stream) {
  if (device < 0 || device >= device::topology().device_count || stream < 0) {
    throw py::value_error("there is no stream " + std::to_string(stream) + " of neuron:" + std::to_string(device));
  }
}

void bind_clock(py::module_& module) {
  module.def("time_enabled", &clock::enabled);
  module.def("launch_blocking", &clock::launch_blocking);
  module.def("clock_set_host_costs", [](int64_t issue_ns, int64_t synchronise_ns, bool blocking) {
    clock::set_host_costs({.issue_ns = issue_ns, .synchronise_ns = synchronise_ns, .blocking = blocking});
  });
  module.def("clock_host_costs", [] {
    const clock::HostCosts costs = clock::host_costs();
    return std::tuple(costs.issue_ns, costs.synchronise_ns, costs.blocking);
  });
  module.def("clock_submit", [](int device, int64_t stream, int64_t cost_ns) {
    check_stream(device, stream);
    return as_pair(clock::submit(device, stream, cost_ns));
  });
  module.def("clock_transfer", [](int device, int64_t stream, int64_t cost_ns, bool wait) {
    check_stream(device, stream);
    return as_pair(clock::transfer(device, stream, cost_ns, wait));
  });
  module.def("clock_synchronise_stream", [](int device, int64_t stream) {
    check_stream(device, stream);
    clock::synchronise_stream(device, stream);
  });
  module.def("clock_synchronise_device", [](int device) {
    check_stream(device, 0);
    clock::synchronise_device(device);
  });
  module.def("clock_synchronise_until", &clock::synchronise_until);
  module.def("clock_record", [](int device, int64_t stream) {
    check_stream(device, stream);
    return clock::record(device, stream);
  });
  module.def("clock_wait", [](int device, int64_t stream, int64_t event_ns) {
    check_stream(device, stream);
    clock::wait(device, stream, event_ns);
  });
  module.def("clock_host_now", &clock::host_now);
  module.def("clock_stream_end", [](int device, int64_t stream) {
    check_stream(device, stream);
    return clock::stream_end(device, stream);
  });
  module.def("clock_advance_host", &clock::advance_host);
  module.def("clock_reset", &clock::reset);
}

}  // namespace

void bind_hardware(py::module_& module) {
  module.def("topology", &topology);
  module.def("instance_names", &device::instance_names);
  module.def("chip", &get_chip);
  module.def("set_chip", &set_chip);
  bind_clock(module);
}

}  // namespace neuron::python
