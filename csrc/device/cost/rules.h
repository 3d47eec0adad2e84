// Which class an operator has, and which of its arguments the class takes: data beside the coverage table
// (torch_neuron_sim/coverage/cost_classes.tsv), resolved against the operator's schema by Python.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/cost/chip.h"
#include "device/cost/work.h"

namespace neuron::device::cost {

constexpr int kAbsentRole = -1;

struct Rule {
  Work work;  // class, passes and flags; no operands
  std::vector<int>
      operands;             // positions in the schema, in the order of the class's roles; empty: every tensor argument
  int dims = kAbsentRole;   // position of the int or int[] that gives Work::dims
  int count = kAbsentRole;  // of the int that gives Work::count
  int flag = kAbsentRole;   // of the bool that gives Work::transposed
};

// An argument of a call, by its position in the schema. A plain argument that no rule asks for may be left empty; None
// is empty, or one absent operand.
struct ArgumentView {
  std::span<const Operand> tensors;   // one, or a list's
  std::span<const int64_t> integers;  // an int, an int[], or a bool as 0 or 1
};

// For an operator's full name, e.g. "aten::add.Tensor"; nullptr when it has none. The pointer stays good; what it
// points to changes only in set_rule.
const Rule* find_rule(std::string_view op);
// Not to be called while another thread estimates.
void set_rule(std::string op, Rule rule);

// The estimate for one call. `outputs`: results and written arguments, absent ones (None) included.
Estimate estimate(const Rule& rule, std::span<const ArgumentView> arguments, std::span<const Operand> outputs,
                  const Chip& chip);

}  // namespace neuron::device::cost
