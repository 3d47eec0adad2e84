// Which cost class each operator has: the table names arguments, the schema gives their positions.
#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "device/cost/estimate.h"
#include "device/cost/rules.h"
#include "python/bindings.h"
#include "python/cost_attributes.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

namespace cost = device::cost;

// The op, its class, passes and flags, names of the tensor arguments in the order of the class's roles (none: all that
// are read), and the names of those that give dims, count and transposed ("": none).
using Row = std::tuple<std::string, std::string, CostAttributes, std::vector<std::string>, std::string, std::string,
                       std::string>;

bool holds_tensors(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return true;
    case c10::TypeKind::ListType:
    case c10::TypeKind::OptionalType:
      return holds_tensors(type->containedType(0));
    default:
      return false;
  }
}

int position_of(const c10::FunctionSchema& schema, const std::string& name) {
  const auto found = schema.argumentIndexWithName(name);
  return found.has_value() ? *found : cost::kAbsentRole;
}

cost::Rule resolve(const Row& row, const c10::FunctionSchema& schema) {
  const auto& [op, cost_class, attributes, arguments, dims, count, flag] = row;
  cost::Rule rule{.work = make_work(cost_class, attributes),
                  .operands = {},
                  .dims = position_of(schema, dims),
                  .count = position_of(schema, count),
                  .flag = position_of(schema, flag)};
  for (const std::string& name : arguments) rule.operands.push_back(position_of(schema, name));
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.is_out()) continue;
    if (argument.alias_info() && argument.alias_info()->isWrite()) rule.work.in_place = true;
    if (arguments.empty() && holds_tensors(argument.type())) rule.operands.push_back(static_cast<int>(i));
  }
  // For the model, no operands means all arguments, results of out= forms among them.
  if (rule.operands.empty()) rule.operands.push_back(cost::kAbsentRole);
  return rule;
}

// Returns how many of the operators this torch has.
int set_cost_rules(const std::vector<Row>& rows) {
  int known = 0;
  for (const Row& row : rows) {
    const std::string& op = std::get<0>(row);
    const size_t dot = op.find('.');
    const c10::OperatorName name(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1));
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle.has_value()) continue;
    cost::set_rule(op, resolve(row, handle->schema()));
    ++known;
  }
  return known;
}

py::object cost_rule(const std::string& op) {
  const cost::Rule* rule = cost::find_rule(op);
  if (!rule) return py::none();
  py::dict result;
  result["cost_class"] = std::string(cost::class_name(rule->work.cost_class));
  result["attributes"] = attributes_of(rule->work);
  result["operands"] = rule->operands;
  result["dims"] = rule->dims;
  result["count"] = rule->count;
  result["flag"] = rule->flag;
  return result;
}

}  // namespace

void bind_cost_rules(py::module_& module) {
  module.def("set_cost_rules", &set_cost_rules);
  module.def("cost_rule", &cost_rule);
}

}  // namespace neuron::python
