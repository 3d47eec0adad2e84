// The typed path: for hot ops, a kernel with the op's own C++ signature, so that nothing is boxed.
//
// Typed<at::_ops::relu>::call is registered as relu's neuron kernel. A call that is native and ordinary is aliased, run
// and adopted here; everything else (fallback, float64, an odd argument) goes to the boxed path, which handles it all.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/boxing/impl/boxing.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "launch/boxed.h"
#include "launch/call.h"
#include "launch/check.h"
#include "launch/compile_cache.h"
#include "launch/coverage.h"
#include "launch/int64_range.h"
#include "launch/ledger.h"
#include "launch/registration.h"

namespace neuron::launch {

// One argument of a call: `see` scans it, `get` gives what the CPU kernel takes. Written to says whether the kernel may
// change its size.
template <class T>
struct Argument {  // numbers, flags, lists of numbers: passed through
  template <class Visitor>
  static void see(Visitor& visitor, const std::remove_reference_t<T>& value) {
    visit_value(visitor, value);
  }
  Argument(Call&, const std::remove_reference_t<T>& value) : value_(value) {}
  T get() { return value_; }
  void finish(Call&) {}

 private:
  std::remove_const_t<std::remove_reference_t<T>> value_;
};

template <>
struct Argument<const at::Tensor&> {
  template <class Visitor>
  static void see(Visitor& visitor, const at::Tensor& tensor) {
    visitor.see(tensor);
  }
  Argument(Call& call, const at::Tensor& tensor) : alias_(call.alias(tensor)) {}
  const at::Tensor& get() { return alias_; }
  void finish(Call& call) { call.recycle(std::move(alias_)); }

 private:
  at::Tensor alias_;
};

// A dtype that the result is to have.
template <>
struct Argument<std::optional<at::ScalarType>> {
  template <class Visitor>
  static void see(Visitor& visitor, const std::optional<at::ScalarType>& dtype) {
    if constexpr (std::is_same_v<Visitor, ArgumentScan>) {
      if (dtype.has_value()) visitor.dtypes |= dtype_bit(*dtype);
    }
    visit_value(visitor, dtype);
  }
  Argument(Call&, const std::optional<at::ScalarType>& dtype) : dtype_(dtype) {}
  std::optional<at::ScalarType> get() { return dtype_; }
  void finish(Call&) {}

 private:
  std::optional<at::ScalarType> dtype_;
};

template <>
struct Argument<at::Tensor&> {
  template <class Visitor>
  static void see(Visitor& visitor, const at::Tensor& tensor) {
    visitor.see_written(tensor);
  }
  Argument(Call& call, at::Tensor& tensor) : original_(tensor), alias_(call.alias_to_write(tensor)) {}
  at::Tensor& get() { return alias_; }
  void finish(Call& call) {
    call.restore(original_, alias_);
    call.count_write(alias_);
    count_int64_values(alias_);
    call.recycle(std::move(alias_));
  }

 private:
  at::Tensor& original_;
  at::Tensor alias_;
};

template <>
struct Argument<const std::optional<at::Tensor>&> {
  template <class Visitor>
  static void see(Visitor& visitor, const std::optional<at::Tensor>& tensor) {
    if (tensor.has_value()) return visitor.see(*tensor);
    visitor.absent();
  }
  Argument(Call& call, const std::optional<at::Tensor>& tensor) {
    if (tensor.has_value()) alias_ = call.alias(*tensor);
  }
  const std::optional<at::Tensor>& get() { return alias_; }
  void finish(Call& call) {
    if (alias_.has_value()) call.recycle(std::move(*alias_));
  }

 private:
  std::optional<at::Tensor> alias_;
};

// Lists may be written to (foreach and fused optimizers), so their elements are restored too.
template <class List>
struct ListArgument {
  template <class Visitor>
  static void see(Visitor& visitor, const List& list) {
    visitor.begin_list(list.size());
    for (const at::Tensor& tensor : list) visitor.see_written(tensor);
    visitor.end_list();
  }
  ListArgument(Call& call, const List& list) : originals_(list) {
    aliases_.reserve(list.size());
    for (const at::Tensor& tensor : list) aliases_.push_back(call.alias(tensor));
  }
  void finish(Call& call) {
    size_t i = 0;
    for (const at::Tensor& original : originals_) {
      call.restore(original, aliases_[i]);
      call.recycle(std::move(aliases_[i++]));
    }
  }

 protected:
  const List& originals_;
  std::vector<at::Tensor> aliases_;
};

template <>
struct Argument<at::TensorList> : ListArgument<at::TensorList> {
  using ListArgument::ListArgument;
  at::TensorList get() { return aliases_; }
};

template <>
struct Argument<const at::ITensorListRef&> : ListArgument<at::ITensorListRef> {
  Argument(Call& call, const at::ITensorListRef& list) : ListArgument(call, list), view_(aliases_) {}
  const at::ITensorListRef& get() { return view_; }

 private:
  at::ITensorListRef view_;
};

// Index lists: elements may be absent.
template <>
struct Argument<const c10::List<std::optional<at::Tensor>>&> {
  using List = c10::List<std::optional<at::Tensor>>;
  template <class Visitor>
  static void see(Visitor& visitor, const List& list) {
    visitor.begin_list(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      Argument<const std::optional<at::Tensor>&>::see(visitor, list.get(i));
    }
    visitor.end_list();
  }
  Argument(Call& call, const List& list) {
    aliases_.reserve(list.size());
    originals_.reserve(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      originals_.push_back(list.get(i));
      const std::optional<at::Tensor>& original = originals_.back();
      aliases_.push_back(original.has_value() ? std::optional(call.alias(*original)) : std::nullopt);
    }
  }
  const List& get() { return aliases_; }
  void finish(Call&) {}

 private:
  std::vector<std::optional<at::Tensor>> originals_;
  List aliases_;
};

// What a kernel returned, as the caller wants it.
template <class R>
struct Result {
  static R adopt(Call&, R&& value) { return std::move(value); }
};
template <>
struct Result<at::Tensor> {
  static at::Tensor adopt(Call& call, at::Tensor&& value) {
    count_int64_values(value);
    return call.adopt(std::move(value));
  }
};
template <>
struct Result<std::vector<at::Tensor>> {
  static std::vector<at::Tensor> adopt(Call& call, std::vector<at::Tensor>&& values) {
    for (at::Tensor& value : values) value = Result<at::Tensor>::adopt(call, std::move(value));
    return std::move(values);
  }
};
template <class... T>
struct Result<std::tuple<T...>> {
  static std::tuple<T...> adopt(Call& call, std::tuple<T...>&& values) {
    return std::apply([&](T&... value) { return std::tuple<T...>{Result<T>::adopt(call, std::move(value))...}; },
                      values);
  }
};

// Picks, among the arguments, the caller's tensors that an in-place or out= op returns.
template <class R>
struct Returned;
template <>
struct Returned<at::Tensor&> {
  template <class... A>
  static at::Tensor& of(A&&... arguments) {
    at::Tensor* found = nullptr;
    (take(arguments, found), ...);
    return *found;
  }

 private:
  // The written argument: the only non-const tensor reference of such a signature.
  static void take(at::Tensor& tensor, at::Tensor*& found) { found = &tensor; }
  template <class T>
  static void take(const T&, at::Tensor*&) {}
};

// The op's own CPU kernel, reached by redispatch.
template <class Op>
struct CpuKernel {
  template <class... A>
  static decltype(auto) run(A&&... arguments) {
    return Op::redispatch(kCpuKey, std::forward<A>(arguments)...);
  }
  static c10::KernelFunction boxed_body() { return {}; }
};

// A kernel over CPU tensors that is written for neuron, since PyTorch has none.
template <auto function>
struct WrittenKernel {
  template <class... A>
  static decltype(auto) run(A&&... arguments) {
    return function(std::forward<A>(arguments)...);
  }
  static c10::KernelFunction boxed_body() {
    return c10::KernelFunction::makeFromUnboxedFunction(
        c10::CompileTimeFunctionPointer<std::remove_pointer_t<decltype(function)>, function>());
  }
};

template <class Op, class Kernel, class Schema>
struct TypedImplementation;

template <class Op, class Kernel, class R, class... A>
struct TypedImplementation<Op, Kernel, R(A...)> {
  static R call(A... arguments) {
    OperatorEntry& entry = *slot;
    ArgumentScan scan(entry.key_seed);
    (Argument<A>::see(scan, arguments), ...);
    if (C10_UNLIKELY(scan.odd || scan.device < 0 || (scan.dtypes & entry.careful.load(std::memory_order_relaxed)))) {
      static const BoxedOperator careful = BoxedOperator::make(Op::name, Op::overload_name, Kernel::boxed_body());
      return c10::impl::BoxedKernelWrapper<R(A...)>::call(careful.kernel, careful.handle, kNeuronKey,
                                                          std::forward<A>(arguments)...);
    }
    Compilation compilation(entry, scan.hash());
    if (C10_UNLIKELY(compilation.is_new())) compilation.describe(description(arguments...));
    Call launch(entry.name, scan.device, device::Charge::kScratch);
    launch.note_outputs_in(compilation.description());
    return run(launch, compilation, std::index_sequence_for<A...>(), std::forward<A>(arguments)...);
  }

  inline static OperatorEntry* slot = nullptr;

 private:
  static KeyDescription description(const std::remove_reference_t<A>&... arguments) {
    KeyDescription description;
    ((Argument<A>::see(description, arguments), description.end_argument()), ...);
    return description;
  }

  template <class T>
  static void count_writes(Call& launch, const T& argument, bool counted) {
    if constexpr (std::is_same_v<T, at::TensorList>) {
      if (!counted) return;
      launch::count_writes(argument);
      for (const at::Tensor& tensor : argument) launch.count_write(tensor);
    }
  }

  template <size_t... I>
  static R run(Call& launch, Compilation& compilation, std::index_sequence<I...>, A... arguments) {
    std::tuple<Argument<A>...> held{Argument<A>(launch, arguments)...};
    const auto finish = [&] {
      (std::get<I>(held).finish(launch), ...);
      if (C10_UNLIKELY(slot->counted_lists)) (count_writes(launch, arguments, slot->counted_lists >> I & 1), ...);
      launch.finish();
      compilation.finish(launch.device());
      ledger::count_native(*slot, launch.bytes());
    };
    if constexpr (std::is_same_v<R, at::Tensor&>) {
      Kernel::run(std::get<I>(held).get()...);
      finish();
      return Returned<at::Tensor&>::of(arguments...);
    } else if constexpr (std::is_void_v<R>) {
      Kernel::run(std::get<I>(held).get()...);
      finish();
    } else {
      R result = Result<R>::adopt(launch, Kernel::run(std::get<I>(held).get()...));
      finish();
      return result;
    }
  }
};

template <class Op, class Kernel = CpuKernel<Op>>
using Typed = TypedImplementation<Op, Kernel, typename Op::schema>;

// Makes Typed<Op, Kernel>::call usable, for a kernel that is registered under it or calls it.
template <class Op, class Kernel = CpuKernel<Op>>
void prepare_typed() {
  OperatorEntry& entry = operator_entry(qualified_name(Op::name, Op::overload_name));
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
  entry.draws = draws_without_generator(op);
  entry.counted_lists = counted_lists(op);
  Typed<Op, Kernel>::slot = &entry;
}

// Registers Typed<Op> in `library`.
template <class Op, class Kernel = CpuKernel<Op>>
void register_typed(torch::Library& library) {
  using Implementation = Typed<Op, Kernel>;
  const std::string name = qualified_name(Op::name, Op::overload_name);
  prepare_typed<Op, Kernel>();
  library.impl(name.c_str(), TORCH_FN(Implementation::call));
  note_registered_by_hand(name);
}

template <class... Ops>
void register_all_typed(torch::Library& library) {
  (register_typed<Ops>(library), ...);
}

}  // namespace neuron::launch
