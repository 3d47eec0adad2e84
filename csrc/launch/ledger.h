// What ran, where, and why. O(distinct ops x reasons), with a few call sites each.
#pragma once

#include <string>
#include <vector>

#include "launch/operator_entry.h"

namespace neuron::launch::ledger {

int64_t next_order();

// `bytes`: of device memory that the call read and wrote.
inline void count_native(OperatorEntry& entry, int64_t bytes = 0) {
  entry.native_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (C10_UNLIKELY(entry.native_calls.fetch_add(1, std::memory_order_relaxed) == 0)) {
    entry.native_first_use.store(next_order(), std::memory_order_relaxed);
  }
}

// Counts a call that was not simply native. `route` is "fallback", "unsupported" or "float64".
void count(OperatorEntry& entry, const char* route, const std::string& reason, int64_t bytes, const CallSite& site);

// Warns once per (notice, op) until the ledger is cleared. Throws what the hook throws.
void notify_once(OperatorEntry& entry, Notice notice, const std::string& reason, const CallSite& site);

// int64 values at or beyond 2^31 that native kernels returned; the real product may narrow them to int32.
void count_int64(const int64_t* values, int64_t numel);
int64_t int64_overflows();

struct Snapshot {
  std::string op, recorded_as;
  bool recorded;
  LedgerRow row;
};
std::vector<Snapshot> rows();
void clear();

}  // namespace neuron::launch::ledger
