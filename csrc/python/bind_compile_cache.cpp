#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "device/cost/estimate.h"
#include "launch/compile_cache.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

namespace cache = launch::compile_cache;

// "float32", as Python prints dtypes without "torch.".
std::string dtype_name(c10::ScalarType dtype) {
  const auto [name, legacy] = c10::getDtypeNames(dtype);
  return std::string(name);
}

py::list rows() {
  py::list result;
  for (const launch::CompiledProgram& program : cache::programs()) {
    py::list inputs;
    for (const launch::KeyedTensor& input : program.description.inputs) {
      inputs.append(py::make_tuple(py::tuple(py::cast(input.sizes)), dtype_name(input.dtype)));
    }
    const bool known = !program.site.file.empty();
    py::dict row;
    row["op"] = program.op;
    row["inputs"] = inputs;
    row["static"] = program.description.static_arguments;
    row["hits"] = program.hits;
    row["first_use"] = program.first_use;
    row["first_ns"] = program.first_ns;
    row["site"] = known ? py::object(py::make_tuple(program.site.file, program.site.line, program.site.function))
                        : py::object(py::none());
    row["device_ns"] = program.duration.ns;
    row["persistent"] = program.persistent;
    result.append(row);
  }
  return result;
}

py::dict stats() {
  const cache::Statistics found = cache::statistics();
  py::dict result;
  result["in_memory_hits"] = found.in_memory_hits;
  result["in_memory_misses"] = found.in_memory_misses;
  result["persistent_hits"] = found.persistent_hits;
  result["persistent_misses"] = found.persistent_misses;
  result["total_compilations"] = found.total_compilations;
  result["evictions"] = found.evictions;
  result["total_entries"] = found.total_entries;
  result["dropped"] = found.dropped;
  result["first_op_ns"] = found.first_op_ns;
  result["last_compilation_ns"] = found.last_compilation_ns;
  result["now_ns"] = found.now_ns;
  return result;
}

const char* bound_name(size_t bound) {
  return device::cost::bound_name(static_cast<device::cost::Bound>(bound)).data();
}

py::list time_totals() {
  py::list result;
  for (const auto& [entry, totals] : cache::time_totals()) {
    py::dict by_bound;
    for (size_t bound = 0; bound < totals.ns_by_bound.size(); ++bound) {
      if (totals.ns_by_bound[bound]) by_bound[bound_name(bound)] = totals.ns_by_bound[bound];
    }
    py::dict row;
    row["op"] = entry->name;
    row["calls"] = totals.calls;
    row["untimed_calls"] = totals.untimed_calls;
    row["ns"] = totals.ns;
    row["flops"] = totals.flops;
    row["bytes"] = totals.bytes;
    row["ns_by_bound"] = by_bound;
    result.append(row);
  }
  return result;
}

}  // namespace

void bind_compile_cache(py::module_& module) {
  module.def("compile_cache_rows", &rows);
  module.def("time_totals", &time_totals);
  module.def("compile_cache_stats", &stats);
  module.def("compile_cache_hashes", &cache::hashes);
  module.def("clear_compile_cache", &cache::clear);
  module.def("set_compile_cache_enabled", &cache::set_enabled);
  module.def("set_compile_cache_max_entries", &cache::set_max_entries);
  module.def("preload_compile_cache", &cache::preload);
  module.def("set_recompile_limit", &cache::set_recompile_limit);
}

}  // namespace neuron::python
