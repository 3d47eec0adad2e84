// The arguments of a boxed call as a compile key sees them: in the same order and form as those of a typed one, so that
// both paths give one program one key.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "launch/argument_plan.h"
#include "launch/compile_key.h"

namespace neuron::launch {

template <class Visitor>
class BoxedKey {
 public:
  explicit BoxedKey(Visitor& visitor) : visitor_(visitor) {}

  void see(const PlannedArgument& planned, const c10::IValue& value) {
    see(value, planned.number);
    visitor_.end_argument();
  }

 private:
  // `number`: the schema says Scalar, of which only the type counts.
  void see(const c10::IValue& value, bool number) {
    if (value.isTensor()) return see(value.toTensor());
    if (value.isNone()) return visitor_.absent();
    if (value.isList()) {
      const c10::ArrayRef<c10::IValue> elements = value.toListRef();
      return see_list(elements, number);
    }
    if (number) return visitor_.type_of(scalar_type_name(value.toScalar()));
    if (value.isInt() || value.isBool()) return visitor_.integer(value.isInt() ? value.toInt() : value.toBool());
    if (value.isSymInt()) return visitor_.integer(value.toSymInt().expect_int());
    if (value.isDouble()) return visitor_.type_of("float");
    if (value.isString()) return visitor_.text(value.toStringRef());
  }

  void see(const at::Tensor& tensor) {
    if (tensor.defined()) return visitor_.tensor(tensor.unsafeGetTensorImpl());
    visitor_.absent();
  }

  template <class Elements>
  void see_list(const Elements& elements, bool number) {
    visitor_.begin_list(elements.size());
    for (const c10::IValue& element : elements) see(element, number);
    visitor_.end_list();
  }

  Visitor& visitor_;
};

}  // namespace neuron::launch
