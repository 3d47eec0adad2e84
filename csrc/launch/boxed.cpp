#include "launch/boxed.h"

#include <ATen/core/Generator.h>
#include <ATen/core/List.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "backend/generator.h"
#include "launch/boxed_key.h"
#include "launch/call.h"
#include "launch/check.h"
#include "launch/compile_cache.h"
#include "launch/compute_dtype.h"
#include "launch/coverage.h"
#include "launch/decision.h"
#include "launch/dtype_conversion.h"
#include "launch/float64.h"
#include "launch/generator_swap.h"
#include "launch/int64_range.h"
#include "launch/ledger.h"
#include "launch/nested.h"

namespace neuron::launch {

using at::Tensor;
using torch::jit::Stack;

// One call of the boxed launch.
class BoxedLaunch::Invocation {
 public:
  Invocation(const BoxedLaunch& launch, const c10::OperatorHandle& op, Stack* stack)
      : launch_(launch), plan_(launch.plan_), op_(op), stack_(stack), base_(stack->size() - plan_.arguments.size()) {}

  void run() {
    check();
    const Decision decision = decide(launch_.entry_, dtypes_);
    const bool native = decision.route == Route::kNative;
    const bool demoted = native && (launch_.entry_.careful & dtype_bit(at::kDouble)) && is_demoted(plan_, &argument(0));
    CallSite site;
    if (!native) site = announce(launch_.entry_, decision);
    if (demoted) site = announce_float64(launch_.entry_);

    std::optional<Compilation> compilation = native ? std::optional(compile()) : std::nullopt;

    execute(native, demoted, native ? compilation->description() : nullptr);

    if (native) {
      compilation->finish(device_);
      ledger::count_native(launch_.entry_, bytes_);
    } else {
      const Duration duration = fallback_duration(bytes_to_host_, bytes_ - bytes_to_host_);
      compile_cache::count_time(launch_.entry_, duration);
      run_on_clock(device_, launch_.entry_, duration);
    }
    if (demoted) ledger::count(launch_.entry_, "float64", "float64 is computed as float32", 0, site);
    if (!native && launch_.entry_.recorded) {
      ledger::count(launch_.entry_, route_name(decision.route), decision.reason, bytes_, site);
    }
  }

 private:
  c10::IValue& argument(size_t i) { return (*stack_)[base_ + i]; }

  void check() {
    ArgumentCheck check(launch_.entry_);
    bool elsewhere = false;
    std::optional<at::Generator> generator;
    for (size_t i = 0; i < plan_.arguments.size(); ++i) {
      const PlannedArgument& planned = plan_.arguments[i];
      const c10::IValue& value = argument(i);
      switch (planned.kind) {
        case ArgumentKind::kTensor:
          if (value.isTensor()) check.see(value.toTensor(), planned);
          break;
        case ArgumentKind::kTensorList:
          if (value.isTensorList()) {
            for (const Tensor& tensor : value.toTensorVector()) check.see(tensor, planned);
          }
          break;
        case ArgumentKind::kIndexList:
          if (value.isOptionalTensorList()) {
            for (const auto& tensor : value.toOptionalTensorVector()) {
              if (tensor.has_value()) check.see(*tensor, planned);
            }
          }
          break;
        case ArgumentKind::kDevice:
          if (!value.isDevice()) break;
          elsewhere = value.toDevice().type() != backend::kNeuron;
          if (!elsewhere) device_ = backend::resolve_device(value.toDevice()).index();
          break;
        case ArgumentKind::kGenerator:
          if (!value.isNone()) generator = value.toGenerator();
          break;
        case ArgumentKind::kPinMemory:
          TORCH_CHECK(!value.isBool() || !value.toBool(), launch_.entry_.name,
                      ": only dense CPU tensors can be pinned, and this one is to be on neuron; leave pin_memory out");
          break;
        default:
          break;
      }
    }
    // A neuron generator brings an op on CPU tensors here.
    TORCH_CHECK(
        !generator.has_value() || check.device() >= 0 || device_ >= 0 || generator->device().type() != backend::kNeuron,
        launch_.entry_.name, ": Expected a 'cpu' device type for generator but found '", generator->device().type(),
        "'; draw on device=\"neuron\", or use a CPU generator");
    check.finish();
    if (device_ < 0 && !elsewhere) device_ = check.device();
    dtypes_ = check.dtypes();
    nested_ = check.nested();
  }

  template <class Visitor>
  void visit(Visitor& visitor) {
    BoxedKey<Visitor> key(visitor);
    for (size_t i = 0; i < plan_.arguments.size(); ++i) key.see(plan_.arguments[i], argument(i));
  }

  Compilation compile() {
    KeyHash hash(launch_.entry_.key_seed);
    visit(hash);
    Compilation compilation(launch_.entry_, hash.hash());
    if (compilation.is_new()) {
      KeyDescription description;
      visit(description);
      compilation.describe(std::move(description));
    }
    return compilation;
  }

  void execute(bool native, bool demoted, KeyDescription* description) {
    const bool is_aten = launch_.entry_.name.rfind("aten::", 0) == 0;
    Call call(launch_.entry_.name, device_, native ? device::Charge::kScratch : device::Charge::kHost, is_aten);
    call.note_outputs_in(description);
    for (size_t i = 0; i < plan_.arguments.size(); ++i) to_cpu(call, plan_.arguments[i], argument(i));
    bytes_to_host_ = call.bytes();
    const std::vector<ComputeDtype>& rules = launch_.entry_.compute_dtypes;
    if (demoted) {
      DtypeConversion demotion(plan_, float64_as_float32());
      demotion.convert_arguments(&argument(0));
      run_kernel();
      demotion.convert_results(stack_);
    } else if (native && !nested_ && !rules.empty() && needs_compute_dtype(plan_, rules, &argument(0))) {
      run_in_compute_dtype(plan_, rules, stack_, [this] { run_kernel(); });
    } else {
      run_kernel();
    }
    for (size_t i = stack_->size() - plan_.returns; i < stack_->size(); ++i) to_neuron(call, native, (*stack_)[i]);
    for (Held& held : held_) {
      if (held.counted) count_writes(held.original);
      if (held.written) {
        call.restore(held.original, held.alias);
        call.count_write(held.alias);
        if (native) count_int64_values(held.alias);
      }
      call.recycle(std::move(held.alias));
    }
    bytes_ = call.bytes();
    call.finish();
  }

  void run_kernel() {
    std::optional<GeneratorSwap> swap;
    if (plan_.draws && device_ >= 0 && backend::rng_mode() == backend::RngMode::kDevice) swap.emplace(device_);
    if (launch_.body_.isValid()) {
      launch_.body_.callBoxed(op_, kCpuKey, stack_);
    } else {
      op_.redispatchBoxed(nested_ ? kNestedCpuKey : kCpuKey, stack_);
    }
  }

  Tensor hold(Call& call, const Tensor& original, bool written, bool counted = false) {
    Tensor alias = written ? call.alias_to_write(original) : call.alias(original);
    if (!alias.is_same(original)) held_.push_back({original, alias, written, counted});
    return alias;
  }

  void to_cpu(Call& call, const PlannedArgument& planned, c10::IValue& value) {
    switch (planned.kind) {
      case ArgumentKind::kTensor:
        if (value.isTensor()) value = hold(call, value.toTensor(), planned.written);
        break;
      case ArgumentKind::kTensorList:
        if (value.isTensorList()) {
          c10::List<Tensor> aliases;
          for (const Tensor& tensor : value.toTensorVector()) {
            aliases.push_back(hold(call, tensor, planned.written, planned.counted));
          }
          value = std::move(aliases);
        }
        break;
      case ArgumentKind::kIndexList:
        if (value.isOptionalTensorList()) {
          c10::List<std::optional<Tensor>> aliases;
          for (const auto& tensor : value.toOptionalTensorVector()) {
            aliases.push_back(tensor.has_value() ? std::optional(hold(call, *tensor, false)) : std::nullopt);
          }
          value = std::move(aliases);
        }
        break;
      case ArgumentKind::kDevice:
        if (value.isDevice() && value.toDevice().type() == backend::kNeuron) value = c10::Device(c10::kCPU);
        break;
      case ArgumentKind::kGenerator:
        if (device_ >= 0) {
          const auto given = value.isNone() ? std::nullopt : std::optional(value.toGenerator());
          value = backend::cpu_generator_for(given, device_);
        }
        break;
      default:
        break;
    }
  }

  void to_neuron(Call& call, bool native, c10::IValue& value) {
    const auto adopt = [&](Tensor&& tensor) {
      if (native && tensor.defined()) count_int64_values(tensor);
      return call.adopt(std::move(tensor));
    };
    if (value.isTensor()) {
      value = adopt(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      std::vector<Tensor> results = value.toTensorVector();
      value = c10::IValue();
      for (Tensor& result : results) result = adopt(std::move(result));
      value = std::move(results);
    }
  }

  struct Held {
    Tensor original, alias;
    bool written;
    bool counted;  // the write is to be counted in the version counter
  };

  const BoxedLaunch& launch_;
  const ArgumentPlan& plan_;
  const c10::OperatorHandle& op_;
  Stack* stack_;
  const size_t base_;
  int device_ = -1;
  DtypeSet dtypes_ = 0;
  int64_t bytes_ = 0;
  int64_t bytes_to_host_ = 0;
  bool nested_ = false;
  c10::SmallVector<Held, 8> held_;
};

BoxedLaunch::BoxedLaunch(const c10::OperatorHandle& op, c10::KernelFunction body)
    : entry_(operator_entry(c10::toString(op.operator_name()))),
      schema_(op.schema()),
      plan_(op),
      body_(std::move(body)) {}

void BoxedLaunch::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  Invocation(*this, op, stack).run();
}

BoxedOperator BoxedOperator::make(const char* name, const char* overload, c10::KernelFunction body) {
  const c10::OperatorHandle handle = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  return {handle, c10::BoxedKernel::makeFromFunctor(std::make_unique<BoxedLaunch>(handle, std::move(body)))};
}

}  // namespace neuron::launch
