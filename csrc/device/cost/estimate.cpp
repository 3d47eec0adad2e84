#include "device/cost/estimate.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "device/cost/classes.h"
#include "device/cost/traffic.h"

namespace neuron::device::cost {
namespace {

using Function = Estimate (*)(const Work&, const Chip&);

struct ClassRow {
  CostClass cost_class;
  std::string_view name;
  Function function;  // nullptr: costs nothing, or nobody knows
};

constexpr ClassRow kClasses[] = {
    {CostClass::kNone, "none", nullptr},
    {CostClass::kFree, "free", nullptr},
    {CostClass::kHost, "host", &host},
    {CostClass::kFill, "fill", &fill},
    {CostClass::kCopy, "copy", &copy},
    {CostClass::kTranspose, "transpose", &transpose},
    {CostClass::kUnary, "unary", &unary},
    {CostClass::kBinary, "binary", &binary},
    {CostClass::kElementwise, "elementwise", &elementwise},
    {CostClass::kTranscendental, "transcendental", &transcendental},
    {CostClass::kDivision, "division", &division},
    {CostClass::kPower, "power", &power},
    {CostClass::kAffine, "affine", &affine},
    {CostClass::kReduction, "reduction", &reduction},
    {CostClass::kScan, "scan", &scan},
    {CostClass::kSoftmax, "softmax", &softmax},
    {CostClass::kNorm, "norm", &norm},
    {CostClass::kMatmul, "matmul", &matmul},
    {CostClass::kLinear, "linear", &linear},
    {CostClass::kLinearBackward, "linear_backward", &linear_backward},
    {CostClass::kConvolution, "convolution", &convolution},
    {CostClass::kConvolutionBackward, "convolution_backward", &convolution_backward},
    {CostClass::kAttention, "attention", &attention},
    {CostClass::kAttentionBackward, "attention_backward", &attention_backward},
    {CostClass::kGather, "gather", &gather},
    {CostClass::kScatter, "scatter", &scatter},
    {CostClass::kSort, "sort", &sort},
};

// estimate() looks a class up by its number.
constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kClasses); ++i) {
    if (static_cast<size_t>(kClasses[i].cost_class) != i) return false;
  }
  return static_cast<size_t>(CostClass::kSort) + 1 == std::size(kClasses);
}
static_assert(in_order());

constexpr std::string_view kBounds[] = {"nothing", "latency", "memory", "tensor", "vector", "scalar", "gpsimd", "host"};

bool is_empty(const Work& work) {
  for (const Operand& output : work.outputs) {
    if (numel(output) > 0) return false;
  }
  return !work.outputs.empty();
}

// Engines, memory and the latency of DMA: what overlaps, what does not, and what decides.
void finish(Estimate& result, const Chip& chip) {
  // The engine runs slower for a while after each pause, and between eager ops it always pauses.
  const double rate = std::min(chip.tensor_ramp_rate, 1.0);
  const double full_clock_work = chip.tensor_ramp_window * rate;  // what the window gets done
  result.ramp_ns = std::min(result.tensor_ns, full_clock_work) * (1 / rate - 1);
  result.latency_ns = 2 * chip.dma_latency;
  const std::pair<double, Bound> limits[] = {
      {result.memory_ns, Bound::kMemory}, {result.tensor_ns + result.ramp_ns, Bound::kTensor},
      {result.vector_ns, Bound::kVector}, {result.scalar_ns, Bound::kScalar},
      {result.gpsimd_ns, Bound::kGpSimd},
  };
  const auto longest = std::ranges::max_element(limits, {}, &std::pair<double, Bound>::first);
  result.total_ns = result.latency_ns + longest->first;
  result.bound = longest->first >= result.latency_ns ? longest->second : Bound::kLatency;
}

}  // namespace

Estimate estimate(const Work& work, const Chip& chip) {
  const Function function = kClasses[static_cast<size_t>(work.cost_class)].function;
  Estimate result;
  if (!function) {
    result.known = work.cost_class != CostClass::kNone;
    return result;
  }
  if (is_empty(work)) return result;
  if (chip.memory_bandwidth == 0) {  // no chip has been set
    result.known = false;
    return result;
  }
  result = function(work, chip);
  if (work.cost_class != CostClass::kHost) finish(result, chip);
  return result;
}

double host_transfer_ns(double bytes, const Chip& chip) { return chip.host_latency + bytes / chip.host_bandwidth; }

double fallback_ns(double to_host_bytes, double to_device_bytes, const Chip& chip) {
  return host_transfer_ns(to_host_bytes, chip) + chip.synchronise + host_transfer_ns(to_device_bytes, chip);
}

Estimate host(const Work& work, const Chip& chip) {
  Estimate result;
  for (const Operand& input : work.inputs) result.bytes += stored_bytes(input);
  result.total_ns = host_transfer_ns(result.bytes, chip);
  result.bound = Bound::kHost;
  return result;
}

std::string_view class_name(CostClass cost_class) { return kClasses[static_cast<size_t>(cost_class)].name; }

CostClass class_of(std::string_view name) {
  std::string legal;
  for (const ClassRow& row : kClasses) {
    if (row.name == name) return row.cost_class;
    legal += (legal.empty() ? "" : ", ") + std::string(row.name);
  }
  throw std::invalid_argument("there is no cost class '" + std::string(name) + "'. Legal: " + legal);
}

std::string_view bound_name(Bound bound) { return kBounds[static_cast<size_t>(bound)]; }

}  // namespace neuron::device::cost
