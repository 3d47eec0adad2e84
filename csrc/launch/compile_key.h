// What the device compiles a program (a NEFF) for: the operator, the shape and dtype of each input, static arguments by
// value, and scalars by type only (TorchNeuron snapshot, torch_neuronx/kernels/base.py).
//
// Two visitors see the arguments of a call in one order: KeyHash on every call, KeyDescription when the hash is new.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "launch/tensor_access.h"

namespace c10 {
struct IValue;
}

namespace neuron::launch {

// The same in every process, so that hashes may be kept on disk.
class KeyHash {
 public:
  explicit KeyHash(uint64_t seed) : hash_(seed) {}
  uint64_t hash() const { return hash_; }

  void tensor(const c10::TensorImpl* impl) {
    const auto* access = TensorAccess::of(impl);
    const auto dtype = static_cast<uint64_t>(c10::typeMetaToScalarType(access->dtype_field()));
    const c10::IntArrayRef sizes = access->sizes_field();
    mix(kTensor | dtype << 8 | static_cast<uint64_t>(sizes.size()) << 16);
    for (const int64_t size : sizes) mix(static_cast<uint64_t>(size));
  }
  void absent() { mix(kAbsent); }
  void integer(int64_t value) { mix(static_cast<uint64_t>(value) ^ kInteger); }
  void type_of(const char* name) { mix(kType | static_cast<uint64_t>(*name) << 8); }
  void text(std::string_view value) {
    for (const char c : value) mix(static_cast<uint64_t>(c));
    mix(kText);
  }
  void begin_list(size_t size) { mix(kList | static_cast<uint64_t>(size) << 8); }
  void end_list() {}
  void end_argument() {}

 private:
  enum : uint64_t { kTensor = 1, kAbsent = 2, kInteger = uint64_t{3} << 56, kType = 4, kText = 5, kList = 6 };

  void mix(uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15u;
    hash_ ^= hash_ >> 29;
  }

  uint64_t hash_;
};

struct KeyedTensor {
  std::vector<int64_t> sizes, strides;                 // strides are no part of the key
  c10::ScalarType dtype = c10::ScalarType::Undefined;  // of an absent tensor
};

class KeyDescription {
 public:
  std::vector<KeyedTensor> inputs;
  std::vector<KeyedTensor> outputs;  // results and written arguments of the first call; no part of the key
  std::string static_arguments;      // as a person reads them
  std::vector<int64_t> integers;     // those of them that are integers, in order
  // Where the inputs and integers of each argument end, by its position in the schema.
  struct End {
    size_t inputs, integers;
  };
  std::vector<End> arguments;

  void see(const at::Tensor& tensor) {
    if (tensor.defined()) return this->tensor(tensor.unsafeGetTensorImpl());
    absent();
  }
  void see_written(const at::Tensor& tensor) { see(tensor); }

  void tensor(const c10::TensorImpl* impl);
  void absent() { add("None"); }
  void integer(int64_t value);
  void type_of(const char* name) { add(name); }
  void text(std::string_view value);
  void begin_list(size_t size);
  void end_list();
  void end_argument() { arguments.push_back({inputs.size(), integers.size()}); }
  void output(const c10::TensorImpl* impl);  // nullptr: an undefined result

  // Of all but the sizes and integers: what two keys share if only those differ.
  uint64_t structure() const;

 private:
  void add(std::string_view text);

  size_t inputs_before_list_ = 0;
};

inline const char* scalar_type_name(const at::Scalar& scalar) {
  return scalar.isBoolean() ? "bool" : scalar.isIntegral(false) ? "int" : scalar.isComplex() ? "complex" : "float";
}

template <class T>
constexpr bool is_ignored_in_key = std::is_same_v<T, c10::Device> || std::is_same_v<T, at::Generator>;

// An argument of a typed call that is no tensor.
template <class Visitor, class T>
void visit_value(Visitor& visitor, const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    visitor.type_of("float");
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    visitor.integer(static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<T, at::Scalar>) {
    visitor.type_of(scalar_type_name(value));
  } else if constexpr (std::is_same_v<T, c10::SymInt>) {
    visitor.integer(value.expect_int());
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    visitor.text(value);
  } else if constexpr (is_ignored_in_key<T>) {
    return;
  } else if constexpr (requires { value.has_value(); }) {
    if (value.has_value()) return visit_value(visitor, *value);
    visitor.absent();
  } else {
    visitor.begin_list(value.size());
    for (const auto& element : value) visit_value(visitor, element);
    visitor.end_list();
  }
}

}  // namespace neuron::launch
