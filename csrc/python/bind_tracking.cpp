#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Dtype.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "launch/coverage.h"
#include "launch/ledger.h"
#include "launch/policy.h"
#include "launch/registration.h"
#include "python/bindings.h"
#include "python/source_hooks.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

using launch::FallbackPolicy;
using launch::Float64Policy;
using launch::Route;

template <class T>
using Names = std::vector<std::pair<const char*, T>>;

const Names<Route> kRoutes = {
    {"native", Route::kNative}, {"fallback", Route::kFallback}, {"unsupported", Route::kUnsupported}};
const Names<FallbackPolicy> kFallbackPolicies = {
    {"warn", FallbackPolicy::kWarn}, {"silent", FallbackPolicy::kSilent}, {"error", FallbackPolicy::kError}};
const Names<Float64Policy> kFloat64Policies = {{"warn", Float64Policy::kWarn},
                                               {"silent", Float64Policy::kSilent},
                                               {"error", Float64Policy::kError},
                                               {"exact", Float64Policy::kExact}};

template <class T>
T parse(const char* what, const Names<T>& names, const std::string& given) {
  std::string legal;
  for (const auto& [name, value] : names) {
    if (given == name) return value;
    legal += std::string(legal.empty() ? "'" : ", '") + name + "'";
  }
  throw py::value_error(std::string(what) + ": '" + given + "' is not legal; use one of " + legal);
}

template <class T>
const char* print(const Names<T>& names, T wanted) {
  for (const auto& [name, value] : names) {
    if (value == wanted) return name;
  }
  return "";
}

c10::ScalarType parse_dtype(const std::string& name) {
  const auto dtype = py::module_::import("torch").attr(name.c_str());
  return reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type;
}

launch::DtypeSet parse_dtypes(const std::vector<std::string>& names) {
  launch::DtypeSet set = 0;
  for (const std::string& name : names) set |= launch::dtype_bit(parse_dtype(name));
  return set;
}

using Row = std::tuple<std::string, std::string, std::string, std::vector<std::string>>;

void set_coverage(const std::string&, const std::vector<Row>& rows, const std::string& default_route) {
  std::vector<launch::CoverageRow> parsed;
  parsed.reserve(rows.size());
  for (const auto& [op, route, recorded_as, dtypes] : rows) {
    parsed.push_back({op, parse("route", kRoutes, route), recorded_as, parse_dtypes(dtypes)});
  }
  launch::set_coverage(parsed, parse("default_route", kRoutes, default_route));
}

using ComputeRow = std::tuple<std::string, std::vector<std::string>, std::string, std::vector<int>,
                              std::vector<std::optional<std::string>>, bool>;

void set_compute_dtypes(const std::vector<ComputeRow>& rows) {
  std::vector<launch::ComputeDtypeRow> parsed;
  parsed.reserve(rows.size());
  for (const auto& [op, dtypes, computed_in, kept, results, always] : rows) {
    launch::ComputeDtype rule{
        .dtypes = parse_dtypes(dtypes), .computed_in = parse_dtype(computed_in), .always = always};
    for (const int position : kept) rule.kept |= uint64_t{1} << position;
    for (const auto& result : results) {
      rule.results.push_back(result.has_value() ? parse_dtype(*result) : c10::ScalarType::Undefined);
    }
    parsed.push_back({op, rule});
  }
  launch::set_compute_dtypes(parsed);
}

py::list ledger_rows() {
  py::list result;
  for (const auto& snapshot : launch::ledger::rows()) {
    py::list sites;
    for (const auto& [site, calls] : snapshot.row.sites) {
      sites.append(py::make_tuple(site.file, site.line, site.function, calls));
    }
    py::dict row;
    row["op"] = snapshot.op;
    row["recorded_as"] = snapshot.recorded_as;
    row["route"] = snapshot.row.route;
    row["reason"] = snapshot.row.reason;
    row["calls"] = snapshot.row.calls;
    row["bytes"] = snapshot.row.bytes;
    row["first_use"] = snapshot.row.first_use;
    row["sites"] = sites;
    row["sites_dropped"] = snapshot.row.sites_dropped;
    result.append(row);
  }
  return result;
}

}  // namespace

void bind_tracking(py::module_& module) {
  module.def("set_coverage", &set_coverage);
  module.def("set_compute_dtypes", &set_compute_dtypes);
  module.def("set_unrecorded", &launch::set_unrecorded);
  module.def("register_ops", &launch::register_boxed);
  module.def("register_nested_ops", &launch::register_boxed_nested);
  module.def("hand_registered", &launch::registered_by_hand);

  module.def("set_fallback_policy", [](const std::string& policy) {
    launch::set_fallback_policy(parse("fallback_policy", kFallbackPolicies, policy));
  });
  module.def("fallback_policy", [] { return print(kFallbackPolicies, launch::fallback_policy()); });
  module.def("set_float64_policy", [](const std::string& policy) {
    launch::set_float64_policy(parse("float64_policy", kFloat64Policies, policy));
  });
  module.def("float64_policy", [] { return print(kFloat64Policies, launch::float64_policy()); });

  module.def("ledger_rows", &ledger_rows);
  module.def("clear_ledger", &launch::ledger::clear);
  module.def("int64_overflows", &launch::ledger::int64_overflows);
  module.def("set_warning_hook", &set_warning_hook);
}

}  // namespace neuron::python
