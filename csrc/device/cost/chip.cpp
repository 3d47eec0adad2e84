#include "device/cost/chip.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace neuron::device::cost {
namespace {

Chip current{};

constexpr ChipField kFields[] = {
    {"lnc", &Chip::lnc},
    {"partitions", &Chip::partitions},
    {"tensor_clock", &Chip::tensor_clock},
    {"vector_clock", &Chip::vector_clock},
    {"scalar_clock", &Chip::scalar_clock},
    {"gpsimd_clock", &Chip::gpsimd_clock},
    {"instruction_cycles", &Chip::instruction_cycles},
    {"memory_bandwidth", &Chip::memory_bandwidth},
    {"dma_latency", &Chip::dma_latency},
    {"dma_saturation_bytes", &Chip::dma_saturation_bytes},
    {"dma_half_rate_bytes", &Chip::dma_half_rate_bytes},
    {"dma_transpose_rate", &Chip::dma_transpose_rate},
    {"sbuf_bytes", &Chip::sbuf_bytes},
    {"tensor_rows", &Chip::tensor_rows},
    {"tensor_rows_fp8", &Chip::tensor_rows_fp8},
    {"tensor_stationary", &Chip::tensor_stationary},
    {"tensor_moving", &Chip::tensor_moving},
    {"tensor_fp32_passes", &Chip::tensor_fp32_passes},
    {"tensor_ramp_window", &Chip::tensor_ramp_window},
    {"tensor_ramp_rate", &Chip::tensor_ramp_rate},
    {"tensor_transpose_cycles", &Chip::tensor_transpose_cycles},
    {"vector_scalar_width_16bit", &Chip::vector_scalar_width_16bit},
    {"vector_scalar_width_8bit", &Chip::vector_scalar_width_8bit},
    {"vector_scalar_width", &Chip::vector_scalar_width},
    {"vector_tensor_cycles_16bit", &Chip::vector_tensor_cycles_16bit},
    {"vector_tensor_cycles", &Chip::vector_tensor_cycles},
    {"vector_reduce_width_16bit", &Chip::vector_reduce_width_16bit},
    {"vector_scan_cycles", &Chip::vector_scan_cycles},
    {"reciprocal_cycles", &Chip::reciprocal_cycles},
    {"exp_speedup", &Chip::exp_speedup},
    {"gpsimd_start_cycles", &Chip::gpsimd_start_cycles},
    {"gpsimd_int64_passes", &Chip::gpsimd_int64_passes},
    {"gpsimd_rows_per_cycle", &Chip::gpsimd_rows_per_cycle},
    {"topk_cycles", &Chip::topk_cycles},
    {"host_bandwidth", &Chip::host_bandwidth},
    {"host_latency", &Chip::host_latency},
    {"launch_latency", &Chip::launch_latency},
    {"synchronise", &Chip::synchronise},
    {"host_issue", &Chip::host_issue},
    {"cold_compile", &Chip::cold_compile},
};
static_assert(std::size(kFields) * sizeof(double) == sizeof(Chip), "a constant without a name could not be set");

// The constants that may be 0, which means: costs nothing, or does not exist.
constexpr double Chip::* kMayBeZero[] = {&Chip::dma_latency,    &Chip::dma_half_rate_bytes, &Chip::tensor_ramp_window,
                                         &Chip::exp_speedup,    &Chip::gpsimd_start_cycles, &Chip::host_latency,
                                         &Chip::launch_latency, &Chip::synchronise,         &Chip::host_issue,
                                         &Chip::cold_compile,   &Chip::instruction_cycles};

bool may_be_zero(double Chip::* value) {
  for (const auto each : kMayBeZero) {
    if (each == value) return true;
  }
  return false;
}

}  // namespace

std::span<const ChipField> chip_fields() { return kFields; }

const Chip& chip() { return current; }

void set_chip(const Chip& chip) {
  for (const ChipField& field : kFields) {
    const double value = chip.*field.value;
    const bool zero_allowed = may_be_zero(field.value);
    if (std::isfinite(value) && (zero_allowed ? value >= 0 : value > 0)) continue;
    throw std::invalid_argument("chip constant " + std::string(field.name) + " is " + std::to_string(value) +
                                "; it has to be a finite number " + (zero_allowed ? "of at least 0" : "above 0"));
  }
  current = chip;
}

}  // namespace neuron::device::cost
