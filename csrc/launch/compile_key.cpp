#include "launch/compile_key.h"

namespace neuron::launch {

namespace {

KeyedTensor keyed(const c10::TensorImpl* impl) {
  const auto* access = TensorAccess::of(impl);
  return {access->sizes_field().vec(), access->strides_field().vec(), c10::typeMetaToScalarType(access->dtype_field())};
}

}  // namespace

void KeyDescription::tensor(const c10::TensorImpl* impl) { inputs.push_back(keyed(impl)); }

void KeyDescription::output(const c10::TensorImpl* impl) { outputs.push_back(impl ? keyed(impl) : KeyedTensor{}); }

void KeyDescription::add(std::string_view text) {
  if (!static_arguments.empty() && static_arguments.back() != '[') static_arguments += ", ";
  static_arguments += text;
}

void KeyDescription::integer(int64_t value) {
  integers.push_back(value);
  add(std::to_string(value));
}

void KeyDescription::text(std::string_view value) { add("'" + std::string(value) + "'"); }

void KeyDescription::begin_list(size_t) {
  add("[");
  inputs_before_list_ = inputs.size();
}

void KeyDescription::end_list() {
  if (static_arguments.back() != '[' || inputs.size() == inputs_before_list_) {
    static_arguments += ']';
    return;
  }
  // A list of tensors only.
  static_arguments.pop_back();
  if (static_arguments.ends_with(", ")) static_arguments.resize(static_arguments.size() - 2);
}

uint64_t KeyDescription::structure() const {
  KeyHash hash(integers.size());
  for (const KeyedTensor& input : inputs) {
    hash.begin_list(input.sizes.size());
    hash.integer(static_cast<int64_t>(input.dtype));
  }
  return hash.hash();
}

}  // namespace neuron::launch
