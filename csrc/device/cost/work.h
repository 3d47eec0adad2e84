// What one op does, in the terms of the cost model, and what the model says of it.
#pragma once

#include <cstdint>
#include <span>

namespace neuron::device::cost {

// What decides an engine's rate.
enum class Number : uint8_t { kFloat32, kFloat16, kFloat8, kInteger };

// A tensor. float64 is a kFloat32 of 8 bytes, as the device computes it so; bfloat16 is a kFloat16; bool a kInteger of
// one byte. Complex numbers have no place here: no native op takes them.
struct Operand {
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;  // in elements
  uint8_t element_bytes = 0;         // 0: the argument is absent (None, an undefined tensor)
  Number number = Number::kFloat32;

  bool defined() const { return element_bytes != 0; }
};

enum class CostClass : uint8_t {
  kNone,  // not modelled: to be counted apart
  kFree,  // views and metadata
  kHost,  // the inputs go to the host
  kFill,
  kCopy,
  kTranspose,
  kUnary,
  kBinary,
  kElementwise,  // what the passes say
  kTranscendental,
  kDivision,
  kPower,
  kAffine,  // values made from positions: arange, tril
  kReduction,
  kScan,
  kSoftmax,
  kNorm,
  kMatmul,
  kLinear,
  kLinearBackward,
  kConvolution,
  kConvolutionBackward,
  kAttention,
  kAttentionBackward,
  kGather,
  kScatter,
  kSort,
};

// Instructions over each element, by kind.
struct Passes {
  double tensor_scalar = 0;  // Vector: a tensor with a scalar
  double tensor_tensor = 0;  // Vector, or GpSimd for integers of 32 and 64 bits: two tensors
  double lane = 0;           // Vector: one element per lane and cycle (select, bn_stats, apply, dropout)
  double reduce = 0;         // Vector: along the free axis
  double scan = 0;           // Vector
  double reciprocal = 0;     // Vector
  double activation = 0;     // Scalar
  double exp = 0;            // Scalar, or Vector where that has one
  double gpsimd = 0;         // GpSimd
};

struct Work {
  CostClass cost_class = CostClass::kNone;
  Passes passes;            // 0 everywhere: what the class implies
  bool arithmetic = false;  // add, subtract, multiply, maximum: what the Vector engine has 16-bit fast paths for
  bool bitwise = false;     // integers stay on the Vector engine
  bool by_matmul = false;   // a reduction over partitions is a product with ones, which a maximum is not
  bool accumulate = false;  // scatter adds to what is there
  bool elements = false;    // gather and scatter move single elements, not rows
  bool in_place = false;    // the result is an argument
  bool transposed = false;  // convolution
  int64_t count = 0;        // k of topk; 0: everything is sorted
  int lead = 1;             // how many of the inputs are the first argument, which may be a list
  std::span<const Operand> inputs;   // in the order of roles that the class names
  std::span<const Operand> outputs;  // results and written arguments, absent ones included
  std::span<const int64_t> dims;     // that the op acts along; negative ones count from the end; none: all
};

enum class Bound : uint8_t { kNothing, kLatency, kMemory, kTensor, kVector, kScalar, kGpSimd, kHost };

// Times in ns, for the whole device. Engines and memory overlap; latency is exposed.
struct Estimate {
  double memory_ns = 0;
  double tensor_ns = 0;  // at full clock
  double ramp_ns = 0;    // what the Tensor engine loses because it starts slowly
  double vector_ns = 0;
  double scalar_ns = 0;
  double gpsimd_ns = 0;
  double latency_ns = 0;
  double total_ns = 0;  // without launch
  double flops = 0;     // a multiply-add counts as two; an instruction on an element as one
  double bytes = 0;     // between HBM and the cores
  Bound bound = Bound::kNothing;
  bool known = true;  // false: the op has no class, and nothing above says anything
};

}  // namespace neuron::device::cost
