// What is known of one operator: the route the coverage table gives it, and the counters of its use.
#pragma once

#include <c10/core/ScalarType.h>

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

struct LedgerRow {
  std::string route;  // "fallback", "unsupported" or "float64"; native calls are counted in the entry itself
  std::string reason;
  int64_t calls = 0;
  int64_t bytes = 0;  // what a real device would move
  int64_t first_use = 0;
  std::vector<std::pair<CallSite, int64_t>> sites;
  int64_t sites_dropped = 0;
};

struct OperatorEntry {
  std::string name;         // the dispatcher's, e.g. "aten::add.Tensor"
  std::string recorded_as;  // the name under which the real product records it
  Route route = Route::kNative;
  DtypeSet refused = 0;  // dtypes that the native kernel does not take
  bool draws = false;    // draws random numbers, but takes no Generator
  uint64_t counted_lists =
      0;                 // argument positions of tensor lists whose writes the launch must count (version counters)
  bool recorded = true;  // false: one of the names the product never records as fallback
  // Dtypes with which a call is not simply native; kAllDtypes when the route is not native.
  std::atomic<DtypeSet> careful{kAllDtypes};

  std::atomic<int64_t> native_calls{0};
  std::atomic<int64_t> native_first_use{0};
  std::vector<LedgerRow> rows;  // guarded by the ledger's mutex
};

}  // namespace neuron::launch
