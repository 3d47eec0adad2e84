#include "python/cost_attributes.h"

#include <stdexcept>

#include "device/cost/estimate.h"

namespace neuron::python {
namespace {

namespace cost = device::cost;

struct NamedPass {
  const char* name;
  double cost::Passes::* value;
};
constexpr NamedPass kPasses[] = {
    {"tensor_scalar", &cost::Passes::tensor_scalar},
    {"tensor_tensor", &cost::Passes::tensor_tensor},
    {"lane", &cost::Passes::lane},
    {"reduce", &cost::Passes::reduce},
    {"scan", &cost::Passes::scan},
    {"reciprocal", &cost::Passes::reciprocal},
    {"activation", &cost::Passes::activation},
    {"exp", &cost::Passes::exp},
    {"gpsimd", &cost::Passes::gpsimd},
};

struct NamedFlag {
  const char* name;
  bool cost::Work::* value;
};
constexpr NamedFlag kFlags[] = {
    {"arithmetic", &cost::Work::arithmetic}, {"bitwise", &cost::Work::bitwise},   {"by_matmul", &cost::Work::by_matmul},
    {"accumulate", &cost::Work::accumulate}, {"elements", &cost::Work::elements}, {"in_place", &cost::Work::in_place},
    {"transposed", &cost::Work::transposed},
};

void set_attribute(cost::Work& work, const std::string& name, double value) {
  for (const NamedPass& pass : kPasses) {
    if (name == pass.name) {
      work.passes.*pass.value = value;
      return;
    }
  }
  for (const NamedFlag& flag : kFlags) {
    if (name == flag.name) {
      work.*flag.value = value != 0;
      return;
    }
  }
  throw std::invalid_argument("'" + name + "' is no attribute of a cost class");
}

}  // namespace

cost::Work make_work(const std::string& cost_class, const CostAttributes& attributes) {
  cost::Work work;
  work.cost_class = cost::class_of(cost_class);
  for (const auto& [name, value] : attributes) set_attribute(work, name, value);
  return work;
}

CostAttributes attributes_of(const cost::Work& work) {
  CostAttributes result;
  for (const NamedPass& pass : kPasses) {
    if (work.passes.*pass.value != 0) result[pass.name] = work.passes.*pass.value;
  }
  for (const NamedFlag& flag : kFlags) {
    if (work.*flag.value) result[flag.name] = 1;
  }
  return result;
}

}  // namespace neuron::python
