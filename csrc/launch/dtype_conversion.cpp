#include "launch/dtype_conversion.h"

#include <ATen/core/List.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/copy_ops.h>

#include <algorithm>

namespace neuron::launch {
namespace {

using at::ScalarType;
using at::Tensor;

Tensor cast(const Tensor& tensor, ScalarType dtype) { return at::_to_copy(tensor, at::TensorOptions().dtype(dtype)); }

// Bool, integer, floating, complex: what promotion looks at first.
int category(ScalarType dtype) {
  if (c10::isComplexType(dtype)) return 3;
  if (c10::isFloatingType(dtype)) return 2;
  return c10::isIntegralType(dtype, /*includeBool=*/false) ? 1 : 0;
}

ScalarType promoted(DtypeSet dtypes) {
  ScalarType result = ScalarType::Undefined;
  for (int i = 0; i < static_cast<int>(ScalarType::NumOptions); ++i) {
    const auto dtype = static_cast<ScalarType>(i);
    if (!(dtypes & dtype_bit(dtype))) continue;
    result = result == ScalarType::Undefined ? dtype : c10::promoteTypes(result, dtype);
  }
  return result;
}

bool is_wrapped_number(const Tensor& tensor) { return tensor.unsafeGetTensorImpl()->is_wrapped_number(); }

}  // namespace

void DtypeConversion::Operands::see(const Tensor& tensor, bool converted) {
  if (converted) {
    (tensor.dim() > 0 ? dimensioned : scalar) |= dtype_bit(tensor.scalar_type());
  } else if (tensor.dim() > 0) {
    others = std::max(others, category(tensor.scalar_type()));
  }
}

ScalarType DtypeConversion::Operands::result_dtype() const {
  const ScalarType dtype = promoted(dimensioned ? dimensioned : scalar);
  if (dtype == ScalarType::Undefined) return dtype;
  // A tensor with dimensions outweighs one without of the same category.
  return others < category(dtype) + (dimensioned ? 1 : 0) ? dtype : ScalarType::Undefined;
}

void DtypeConversion::convert_dtypes(c10::IValue* arguments) {
  for (size_t i = 0; i < plan_.arguments.size(); ++i) {
    c10::IValue& value = arguments[i];
    if (plan_.arguments[i].kind != ArgumentKind::kDtype || !value.isInt()) continue;
    asked_ = true;
    const auto dtype = static_cast<ScalarType>(value.toInt());
    if (const ComputeDtype* rule = compute_dtype(rules_, dtype, i)) {
      if (!rule_) rule_ = rule;
      asked_dtype_ = dtype;
      asked_computed_in_ = rule->computed_in;
      computed_in_ |= dtype_bit(rule->computed_in);
      value = static_cast<int64_t>(rule->computed_in);
    }
  }
}

Tensor DtypeConversion::convert(const Tensor& alias, ScalarType dtype, bool written) {
  for (Pair& pair : pairs_) {
    if (pair.alias.is_same(alias)) {
      pair.written |= written;
      return pair.converted;
    }
  }
  computed_in_ |= dtype_bit(dtype);
  pairs_.push_back({alias, cast(alias, dtype), written});
  return pairs_.back().converted;
}

Tensor DtypeConversion::convert_argument(const Tensor& alias, size_t argument, Operands* of_element) {
  if (!alias.defined() || is_wrapped_number(alias)) return alias;
  const bool written = plan_.arguments[argument].written;
  const ComputeDtype* rule = compute_dtype(rules_, alias.scalar_type(), argument);
  // What keeps its dtype by rule, such as indices, is nothing to compute with, and decides no dtype.
  const bool kept = std::any_of(rules_.begin(), rules_.end(),
                                [&](const ComputeDtype& each) { return argument < 64 && (each.kept >> argument & 1); });
  if (!written && !kept) operands_.see(alias, rule);
  if (of_element) of_element->see(alias, rule);
  if (rule) {
    if (!rule_) rule_ = rule;
    return convert(alias, rule->computed_in, written);
  }
  if (written) {
    kept_written_.push_back(alias);
  } else if (asked_dtype_ != ScalarType::Undefined &&
             c10::elementSize(asked_dtype_) < c10::elementSize(asked_computed_in_)) {
    // The kernel would first have cast it to the dtype that was asked for, and lost what that does not hold.
    return cast(cast(alias, asked_dtype_), asked_computed_in_);
  }
  return alias;
}

void DtypeConversion::convert_arguments(c10::IValue* arguments) {
  convert_dtypes(arguments);
  for (size_t i = 0; i < plan_.arguments.size(); ++i) {
    c10::IValue& value = arguments[i];
    if (value.isTensor()) {
      value = convert_argument(value.toTensor(), i, nullptr);
    } else if (value.isTensorList()) {
      const std::vector<Tensor> aliases = value.toTensorVector();
      if (elements_.size() < aliases.size()) elements_.resize(aliases.size());
      c10::List<Tensor> converted;
      for (size_t j = 0; j < aliases.size(); ++j) converted.push_back(convert_argument(aliases[j], i, &elements_[j]));
      value = std::move(converted);
    }
  }
}

ScalarType DtypeConversion::result_dtype(const Tensor& result, size_t position, const Operands& operands) const {
  if (rule_ && position < rule_->results.size() && rule_->results[position] != ScalarType::Undefined) {
    return rule_->results[position];
  }
  if (!(computed_in_ & dtype_bit(result.scalar_type()))) return ScalarType::Undefined;
  return asked_ ? asked_dtype_ : operands.result_dtype();
}

Tensor DtypeConversion::convert_result(Tensor&& result, size_t position, const Operands& operands) const {
  if (!result.defined()) return std::move(result);
  for (const Pair& pair : pairs_) {
    if (pair.converted.is_same(result)) return pair.alias;
  }
  for (const Tensor& written : kept_written_) {
    if (!written.is_same(result)) continue;
    // out= of another dtype: it gets what the result's own dtype holds.
    const ScalarType dtype = asked_ ? asked_dtype_ : operands.result_dtype();
    if (dtype != ScalarType::Undefined && written.is_floating_point()) {
      at::_ops::copy_::call(result, cast(written, dtype), false);
    }
    return std::move(result);
  }
  const ScalarType dtype = result_dtype(result, position, operands);
  return dtype == ScalarType::Undefined ? std::move(result) : cast(result, dtype);
}

void DtypeConversion::convert_results(torch::jit::Stack* stack) {
  for (const Pair& pair : pairs_) {
    if (!pair.written) continue;
    if (pair.alias.sizes() != pair.converted.sizes()) pair.alias.resize_(pair.converted.sizes());
    at::_ops::copy_::call(const_cast<Tensor&>(pair.alias), pair.converted, false);
  }
  const size_t first = stack->size() - plan_.returns;
  for (size_t i = 0; i < plan_.returns; ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (value.isTensor()) {
      value = convert_result(std::move(value).toTensor(), i, operands_);
    } else if (value.isTensorList()) {
      std::vector<Tensor> results = value.toTensorVector();
      const bool by_element = elements_.size() == results.size();
      for (size_t j = 0; j < results.size(); ++j) {
        results[j] = convert_result(std::move(results[j]), i, by_element ? elements_[j] : operands_);
      }
      value = std::move(results);
    }
  }
}

}  // namespace neuron::launch
