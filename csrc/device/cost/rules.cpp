#include "device/cost/rules.h"

#include <array>
#include <functional>
#include <unordered_map>
#include <utility>

#include "device/cost/estimate.h"

namespace neuron::device::cost {
namespace {

struct NameHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using Rules = std::unordered_map<std::string, Rule, NameHash, std::equal_to<>>;

Rules& rules() {
  static Rules instance;
  return instance;
}

constexpr Operand kAbsent;

// The inputs in the order of roles: on the stack, unless there are many (lists).
class Inputs {
 public:
  void add(std::span<const Operand> operands) {
    for (const Operand& operand : operands) {
      if (size_ < few_.size()) {
        few_[size_] = operand;
      } else {
        if (size_ == few_.size()) many_.assign(few_.begin(), few_.end());
        many_.push_back(operand);
      }
      ++size_;
    }
  }
  size_t size() const { return size_; }
  std::span<const Operand> all() const {
    return size_ <= few_.size() ? std::span<const Operand>(few_).first(size_) : std::span<const Operand>(many_);
  }

 private:
  std::array<Operand, 6> few_;
  std::vector<Operand> many_;
  size_t size_ = 0;
};

}  // namespace

const Rule* find_rule(std::string_view op) {
  const auto found = rules().find(op);
  return found == rules().end() ? nullptr : &found->second;
}

void set_rule(std::string op, Rule rule) { rules()[std::move(op)] = std::move(rule); }

Estimate estimate(const Rule& rule, std::span<const ArgumentView> arguments, std::span<const Operand> outputs,
                  const Chip& chip) {
  Work work = rule.work;
  const auto argument = [&](int position) {
    const auto i = static_cast<size_t>(position);
    return position >= 0 && i < arguments.size() ? arguments[i] : ArgumentView{};
  };
  Inputs inputs;
  work.lead = 0;
  if (rule.operands.empty()) {
    for (const ArgumentView& each : arguments) {
      inputs.add(each.tensors);
      if (work.lead == 0) work.lead = static_cast<int>(inputs.size());
    }
  }
  for (const int position : rule.operands) {
    const auto tensors = argument(position).tensors;
    // A role keeps its place when its argument is absent.
    inputs.add(tensors.empty() ? std::span<const Operand>(&kAbsent, 1) : tensors);
    if (work.lead == 0) work.lead = static_cast<int>(inputs.size());
  }
  work.inputs = inputs.all();
  work.outputs = outputs;
  work.dims = argument(rule.dims).integers;
  if (const auto count = argument(rule.count).integers; !count.empty()) work.count = count.front();
  if (const auto flag = argument(rule.flag).integers; !flag.empty()) work.transposed = flag.front() != 0;
  return estimate(work, chip);
}

}  // namespace neuron::device::cost
