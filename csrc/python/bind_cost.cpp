// The cost model, as Python asks it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/cost/chip.h"
#include "device/cost/estimate.h"
#include "device/cost/rules.h"
#include "python/bindings.h"
#include "python/cost_attributes.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

namespace cost = device::cost;

// What Python gives for a tensor: sizes, name of the dtype, and strides (empty: contiguous). None is an absent one.
using TensorSpec = std::optional<std::tuple<std::vector<int64_t>, std::string, std::vector<int64_t>>>;

struct Dtype {
  const char* name;
  uint8_t bytes;
  cost::Number number;
};
constexpr Dtype kDtypes[] = {
    {"float32", 4, cost::Number::kFloat32},    {"bfloat16", 2, cost::Number::kFloat16},
    {"float16", 2, cost::Number::kFloat16},    {"float64", 8, cost::Number::kFloat32},
    {"float8_e5m2", 1, cost::Number::kFloat8}, {"float8_e4m3fn", 1, cost::Number::kFloat8},
    {"int64", 8, cost::Number::kInteger},      {"int32", 4, cost::Number::kInteger},
    {"int16", 2, cost::Number::kInteger},      {"int8", 1, cost::Number::kInteger},
    {"uint8", 1, cost::Number::kInteger},      {"bool", 1, cost::Number::kInteger},
};

// Keeps sizes and strides alive for the operands that refer to them.
class Operands {
 public:
  explicit Operands(std::vector<TensorSpec> specs) : specs_(std::move(specs)) {
    for (TensorSpec& spec : specs_) operands_.push_back(spec ? operand(*spec) : cost::Operand{});
  }
  std::span<const cost::Operand> all() const { return operands_; }

 private:
  static cost::Operand operand(TensorSpec::value_type& spec) {
    auto& [sizes, dtype, strides] = spec;
    if (strides.empty() && !sizes.empty()) {
      strides.resize(sizes.size());
      int64_t stride = 1;
      for (size_t i = sizes.size(); i-- > 0; stride *= std::max<int64_t>(sizes[i], 1)) strides[i] = stride;
    }
    if (strides.size() != sizes.size()) throw py::value_error("estimate: a tensor needs a stride for each size");
    for (const Dtype& each : kDtypes) {
      if (dtype == each.name) return {sizes, strides, each.bytes, each.number};
    }
    throw py::value_error("estimate: the cost model has no dtype '" + dtype + "'");
  }

  std::vector<TensorSpec> specs_;
  std::vector<cost::Operand> operands_;
};

py::dict to_dict(const cost::Estimate& estimate) {
  py::dict result;
  result["memory_ns"] = estimate.memory_ns;
  result["tensor_ns"] = estimate.tensor_ns;
  result["ramp_ns"] = estimate.ramp_ns;
  result["vector_ns"] = estimate.vector_ns;
  result["scalar_ns"] = estimate.scalar_ns;
  result["gpsimd_ns"] = estimate.gpsimd_ns;
  result["latency_ns"] = estimate.latency_ns;
  result["total_ns"] = estimate.total_ns;
  result["flops"] = estimate.flops;
  result["bytes"] = estimate.bytes;
  result["bound"] = std::string(cost::bound_name(estimate.bound));
  result["known"] = estimate.known;
  return result;
}

py::dict estimate(const std::string& cost_class, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
                  const std::map<std::string, double>& attributes, const std::vector<int64_t>& dims, int64_t count,
                  int lead) {
  cost::Work work = make_work(cost_class, attributes);
  const Operands given(std::move(inputs)), made(std::move(outputs));
  work.inputs = given.all();
  work.outputs = made.all();
  work.dims = dims;
  work.count = count;
  work.lead = lead;
  return to_dict(cost::estimate(work, cost::chip()));
}

// As a launch would ask: the arguments of a call by position, each tensors or integers.
py::object estimate_op(const std::string& op,
                       std::vector<std::pair<std::vector<TensorSpec>, std::vector<int64_t>>> arguments,
                       std::vector<TensorSpec> outputs) {
  const cost::Rule* rule = cost::find_rule(op);
  if (!rule) return py::none();
  std::vector<Operands> operands;
  operands.reserve(arguments.size());
  std::vector<cost::ArgumentView> views;
  for (auto& [tensors, integers] : arguments) {
    operands.emplace_back(std::move(tensors));
    views.push_back({operands.back().all(), integers});
  }
  const Operands made(std::move(outputs));
  py::dict result = to_dict(cost::estimate(*rule, views, made.all(), cost::chip()));
  result["cost_class"] = std::string(cost::class_name(rule->work.cost_class));
  return result;
}

}  // namespace

void bind_cost(py::module_& module) {
  module.def("estimate", &estimate, py::arg("cost_class"), py::arg("inputs"), py::arg("outputs"),
             py::arg("attributes") = std::map<std::string, double>{}, py::arg("dims") = std::vector<int64_t>{},
             py::arg("count") = 0, py::arg("lead") = 1);
  module.def("estimate_op", &estimate_op);
  module.def("host_transfer_ns", [](double bytes) { return cost::host_transfer_ns(bytes, cost::chip()); });
  module.def("fallback_ns", [](double to_host_bytes, double to_device_bytes) {
    return cost::fallback_ns(to_host_bytes, to_device_bytes, cost::chip());
  });
}

}  // namespace neuron::python
