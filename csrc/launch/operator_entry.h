// What is known of one operator: the route the coverage table gives it, and the counters of its use.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "launch/call_site.h"

namespace neuron::launch {

enum class Route : uint8_t { kNative, kFallback, kUnsupported };

// A set of dtypes as bits.
using DtypeSet = uint64_t;
constexpr DtypeSet dtype_bit(c10::ScalarType dtype) { return DtypeSet{1} << static_cast<int>(dtype); }
constexpr DtypeSet kAllDtypes = ~DtypeSet{0};
constexpr DtypeSet kComplexDtypes = dtype_bit(c10::ScalarType::ComplexHalf) | dtype_bit(c10::ScalarType::ComplexFloat) |
                                    dtype_bit(c10::ScalarType::ComplexDouble);
// What no native kernel takes (besides float64, which has its own rule): complex has no hardware type, the others are
// absent from the product's eager type map (TorchNeuron snapshot, type_converter_base.py).
constexpr DtypeSet kNeverNative =
    kComplexDtypes | dtype_bit(c10::ScalarType::Float8_e4m3fn) | dtype_bit(c10::ScalarType::Float8_e4m3fnuz) |
    dtype_bit(c10::ScalarType::Float8_e5m2fnuz) | dtype_bit(c10::ScalarType::Float8_e8m0fnu) |
    dtype_bit(c10::ScalarType::UInt16) | dtype_bit(c10::ScalarType::UInt32) | dtype_bit(c10::ScalarType::UInt64);

// Dtypes for which an op is computed in another one.
struct ComputeDtype {
  DtypeSet dtypes = 0;
  c10::ScalarType computed_in = c10::ScalarType::Undefined;
  uint64_t kept = 0;    // bits of the positions of arguments that keep their dtype, such as indices
  bool always = false;  // without asking the kernel first
  // Of results, where it is not that of the original operands; may be shorter than the op has results.
  std::vector<c10::ScalarType> results = {};
};

// The rule for an argument of this dtype at this position, if there is one.
inline const ComputeDtype* compute_dtype(const std::vector<ComputeDtype>& rules, c10::ScalarType dtype,
                                         size_t argument) {
  for (const ComputeDtype& rule : rules) {
    if (rule.dtypes & dtype_bit(dtype)) return argument < 64 && (rule.kept >> argument & 1) ? nullptr : &rule;
  }
  return nullptr;
}

struct LedgerRow {
  std::string route;  // "fallback", "unsupported" or "float64"; native calls are counted in the entry itself
  std::string reason;
  int64_t calls = 0;
  int64_t bytes = 0;  // what a real device would move
  int64_t first_use = 0;
  std::vector<std::pair<CallSite, int64_t>> sites;
  int64_t sites_dropped = 0;
};

struct CompiledKey;

// What calls took on the simulated device.
struct TimeTotals {
  int64_t calls = 0;
  int64_t untimed_calls = 0;  // of ops that the cost model has no class for
  int64_t ns = 0;
  double flops = 0;
  double bytes = 0;                      // between HBM and the cores
  std::array<int64_t, 8> ns_by_bound{};  // by device::cost::Bound
};

struct OperatorEntry {
  std::string name;         // the dispatcher's, e.g. "aten::add.Tensor"
  std::string recorded_as;  // the name under which the real product records it
  Route route = Route::kNative;
  DtypeSet refused = 0;  // dtypes that the native kernel does not take
  // Dtypes that the device takes and CPU's kernel does not; set before the first tensor exists.
  std::vector<ComputeDtype> compute_dtypes;
  bool draws = false;  // draws random numbers, but takes no Generator
  uint64_t counted_lists =
      0;                 // argument positions of tensor lists whose writes the launch must count (version counters)
  bool recorded = true;  // false: one of the names the product never records as fallback
  // Dtypes with which a call is not simply native; kAllDtypes when the route is not native.
  std::atomic<DtypeSet> careful{kAllDtypes};

  std::atomic<int64_t> native_calls{0};
  std::atomic<int64_t> native_bytes{0};  // device memory that native calls read and wrote
  std::atomic<int64_t> native_first_use{0};
  std::vector<LedgerRow> rows;  // guarded by the ledger's mutex

  TimeTotals time;  // of calls without a compile key that is kept; guarded by the compile cache's mutex

  uint64_t key_seed = 0;  // of the hashes of its compile keys
  static constexpr size_t kRecentKeys = 8;
  std::array<std::atomic<CompiledKey*>, kRecentKeys> recent_keys{};  // by hash
};

}  // namespace neuron::launch
