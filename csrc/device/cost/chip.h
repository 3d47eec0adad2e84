// The constants of the cost model. Their values, units, sources and assumptions are data: one file for each chip in
// torch_neuron_sim/hardware, read by Python and handed in once. Figures are those of one physical NeuronCore.
#pragma once

#include <span>

namespace neuron::device::cost {

// Units: nanoseconds, bytes, cycles of the engine that is named. 1 GHz is 1 cycle/ns, 1 GB/s is 1 byte/ns.
struct Chip {
  double lnc;         // physical cores of a device; work splits evenly over them
  double partitions;  // lanes of the Vector, Scalar and GpSimd engines, rows of the on-chip memories

  double tensor_clock;  // cycles/ns
  double vector_clock;
  double scalar_clock;
  double gpsimd_clock;
  double instruction_cycles;  // the least an instruction takes on the Vector and Scalar engines, and a moving pass

  double memory_bandwidth;         // bytes/ns between HBM and the core: the lower of its HBM share and its DMA engines
  double dma_latency;              // ns, once for loading and once for storing
  double dma_saturation_bytes;     // contiguous bytes from which a transfer runs at full rate
  double dma_half_rate_bytes;      // contiguous bytes at which it runs at about half of it
  double dma_transpose_rate;       // of memory_bandwidth, for elements of two bytes
  double sbuf_bytes;               // on-chip memory
  double tensor_rows;              // K of one matmul instruction
  double tensor_rows_fp8;          // the same for two-row fp8
  double tensor_stationary;        // columns of the stationary operand
  double tensor_moving;            // columns of the moving operand
  double tensor_fp32_passes;       // cost of fp32 in units of bf16
  double tensor_ramp_window;       // ns that the engine runs slower after a pause
  double tensor_ramp_rate;         // of its clock, during that
  double tensor_transpose_cycles;  // for a tile of partitions x partitions

  double vector_scalar_width_16bit;  // elements per lane and cycle: a tensor with a scalar, or a copy
  double vector_scalar_width_8bit;
  double vector_scalar_width;
  double vector_tensor_cycles_16bit;  // per element and lane: two tensors; 16-bit add, subtract, multiply
  double vector_tensor_cycles;        // everything else
  double vector_reduce_width_16bit;   // elements per lane and cycle, sum and maximum
  double vector_scan_cycles;          // per element and lane
  double reciprocal_cycles;           // per element and lane
  double exp_speedup;                 // of the Vector engine over the Scalar engine; 0: it has no exp

  double gpsimd_start_cycles;    // of a GpSimd instruction
  double gpsimd_int64_passes;    // integer operations of 64 bits in units of those of 32
  double gpsimd_rows_per_cycle;  // descriptors that gather and scatter issue
  double topk_cycles;            // per element and partition

  double host_bandwidth;  // bytes/ns between host and device
  double host_latency;    // ns of a transfer between them
  double launch_latency;  // ns from an op's start on its stream to the first instruction
  double synchronise;     // ns that the host loses when it waits for an op
  double host_issue;      // ns that the host needs to issue an op
  double cold_compile;    // ns that the host needs to compile an op; 0: not counted
};

struct ChipField {
  const char* name;
  double Chip::* value;
};

// Every constant, by name.
std::span<const ChipField> chip_fields();

// The chip in force. Before set_chip all its constants are 0, and no estimate is known.
const Chip& chip();
// Not to be called while another thread estimates. Throws std::invalid_argument that names the constant: one that must
// be above 0 and is not, one that is negative, infinite or not a number.
void set_chip(const Chip& chip);

}  // namespace neuron::device::cost
