#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>

#include <map>
#include <string>

#include "backend/allocator.h"
#include "backend/generator.h"
#include "backend/runtime.h"
#include "device/clock.h"
#include "device/heap.h"
#include "launch/coverage.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

// As Python raises it; tensors and `device=` arguments get c10's RuntimeError for the same mistake.
void check_index(int index) {
  const int count = backend::device_count();
  if (index >= 0 && index < count) return;
  throw py::value_error("Invalid device id: " + std::to_string(index) + "; this instance has " + std::to_string(count) +
                        " neuron device(s), numbered from 0");
}

int exchange_device(int index) {
  const int previous = backend::current_device_index;
  if (index < 0) return previous;
  check_index(index);
  backend::current_device_index = index;
  return previous;
}

std::map<std::string, int64_t> scratch_stats(int index) {
  check_index(index);
  const auto scratch = device::heap::statistics(index).scratch_bytes;
  return {{"current", scratch.current}, {"peak", scratch.peak}};
}

std::pair<size_t, size_t> memory_info(int index) {
  check_index(index);
  size_t free_bytes = 0, total_bytes = 0;
  device::heap::memory_info(index, free_bytes, total_bytes);
  return {free_bytes, total_bytes};
}

py::object default_generator(int index) {
  check_index(index);
  return py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(THPGenerator_initDefaultGenerator(backend::default_generator(index))));
}

void set_rng_mode(const std::string& mode) {
  if (mode != "shared" && mode != "device") {
    throw py::value_error("rng_mode: '" + mode + "' is not a mode; use 'shared' or 'device'");
  }
  backend::set_rng_mode(mode == "device" ? backend::RngMode::kDevice : backend::RngMode::kShared);
  launch::refresh_careful_dtypes();
}

}  // namespace

void bind_device(py::module_& module) {
  module.def("device_count", &backend::device_count);
  module.def("current_device", [] { return backend::current_device_index; });
  module.def("set_device", [](int index) {
    check_index(index);
    backend::current_device_index = index;
  });
  module.def("exchange_device", &exchange_device);
  module.def("is_initialized", &backend::is_started);
  module.def("init", &backend::ensure_started);
  module.def("is_in_bad_fork", &backend::is_in_bad_fork);
  module.def("synchronize", [](int index) {
    check_index(index);
    device::clock::synchronise_device(index);  // in simulated time; every op has finished when its call returns
  });

  module.def("scratch_stats", &scratch_stats);
  module.def("memory_info", &memory_info);
  module.def("empty_cache", [] { backend::device_allocator()->emptyCache(); });

  module.def("default_generator", &default_generator);
  module.def("set_rng_mode", &set_rng_mode);
  module.def("rng_mode", [] { return backend::rng_mode() == backend::RngMode::kDevice ? "device" : "shared"; });
}

}  // namespace neuron::python
