#include "launch/timing.h"

#include <cmath>
#include <vector>

#include "backend/streams.h"
#include "device/clock.h"
#include "device/cost/estimate.h"
#include "device/cost/rules.h"

namespace neuron::launch {
namespace {

namespace cost = device::cost;
namespace clock = device::clock;

thread_local int64_t thread_ns = 0;

cost::Number number_of(c10::ScalarType dtype) {
  if (c10::isIntegralType(dtype, /*includeBool=*/true)) return cost::Number::kInteger;
  if (c10::isFloat8Type(dtype)) return cost::Number::kFloat8;
  return c10::isReducedFloatingType(dtype) ? cost::Number::kFloat16 : cost::Number::kFloat32;
}

cost::Operand operand_of(const KeyedTensor& tensor) {
  if (tensor.dtype == c10::ScalarType::Undefined) return {};
  return {tensor.sizes, tensor.strides, static_cast<uint8_t>(c10::elementSize(tensor.dtype)), number_of(tensor.dtype)};
}

std::vector<cost::Operand> operands_of(const std::vector<KeyedTensor>& tensors) {
  std::vector<cost::Operand> operands;
  operands.reserve(tensors.size());
  for (const KeyedTensor& tensor : tensors) operands.push_back(operand_of(tensor));
  return operands;
}

int64_t rounded(double ns) { return std::llround(ns); }

}  // namespace

Duration duration_of(const OperatorEntry& entry, const KeyDescription& description) {
  const cost::Rule* rule = cost::find_rule(entry.name);
  if (!rule) return {};
  const std::vector<cost::Operand> inputs = operands_of(description.inputs);
  const std::vector<cost::Operand> outputs = operands_of(description.outputs);
  std::vector<cost::ArgumentView> arguments;
  arguments.reserve(description.arguments.size());
  KeyDescription::End begin{0, 0};
  for (const KeyDescription::End& end : description.arguments) {
    arguments.push_back({std::span(inputs).subspan(begin.inputs, end.inputs - begin.inputs),
                         std::span(description.integers).subspan(begin.integers, end.integers - begin.integers)});
    begin = end;
  }
  const cost::Estimate estimate = cost::estimate(*rule, arguments, outputs, cost::chip());
  if (!estimate.known) return {};
  Duration duration{Duration::Kind::kDevice, estimate.bound, 0, estimate.flops, estimate.bytes};
  if (rule->work.cost_class == cost::CostClass::kHost) {
    duration.kind = Duration::Kind::kHost;
    duration.ns = rounded(estimate.total_ns);
  } else if (estimate.total_ns == 0) {
    duration.kind = Duration::Kind::kFree;
  } else {
    duration.ns = rounded(cost::chip().launch_latency + estimate.total_ns);
  }
  return duration;
}

Duration transfer_duration(int64_t bytes) {
  const auto moved = static_cast<double>(bytes);
  return {Duration::Kind::kHost, cost::Bound::kHost, rounded(cost::host_transfer_ns(moved, cost::chip())), 0, moved};
}

Duration fallback_duration(int64_t to_host, int64_t to_device) {
  const auto there = static_cast<double>(to_host), back = static_cast<double>(to_device);
  return {Duration::Kind::kFallback, cost::Bound::kHost, rounded(cost::fallback_ns(there, back, cost::chip())), 0,
          there + back};
}

void add_calls(TimeTotals& totals, const Duration& duration, int64_t calls) {
  totals.calls += calls;
  if (duration.kind == Duration::Kind::kUntimed) totals.untimed_calls += calls;
  totals.ns += calls * duration.ns;
  totals.flops += static_cast<double>(calls) * duration.flops;
  totals.bytes += static_cast<double>(calls) * duration.bytes;
  totals.ns_by_bound[static_cast<size_t>(duration.bound)] += calls * duration.ns;
}

void run_on_clock(int device, const OperatorEntry&, const Duration& duration, bool host_waits) {
  if (!clock::enabled() || device < 0 || duration.ns == 0) return;
  thread_ns += duration.ns;
  const int64_t stream = backend::current_stream_id(device);
  if (duration.kind == Duration::Kind::kDevice) {
    clock::submit(device, stream, duration.ns);
  } else {
    clock::transfer(device, stream, duration.ns, host_waits);
  }
}

void compile_on_clock() {
  if (clock::enabled()) clock::advance_host(rounded(cost::chip().cold_compile));
}

int64_t device_ns_of_this_thread() { return thread_ns; }

}  // namespace neuron::launch
