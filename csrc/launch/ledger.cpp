#include "launch/ledger.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "launch/compile_cache.h"
#include "launch/coverage.h"

namespace neuron::launch {
namespace {

SourceHooks& hooks() {
  static SourceHooks instance{[] { return CallSite{}; },
                              [](Notice, const std::string&, const std::string&, const CallSite&) {}};
  return instance;
}

}  // namespace

void install_source_hooks(SourceHooks next) { hooks() = next; }
const SourceHooks& source_hooks() { return hooks(); }

namespace ledger {
namespace {

constexpr size_t kSitesPerRow = 8;
constexpr int64_t kInt32Limit = int64_t{1} << 31;

std::mutex mutex;
std::atomic<int64_t> order{0};
std::atomic<int64_t> overflows{0};

std::set<std::pair<Notice, const OperatorEntry*>>& notified() {
  static auto* instance = new std::set<std::pair<Notice, const OperatorEntry*>>;
  return *instance;
}

// Requires the mutex.
LedgerRow& row_of(OperatorEntry& entry, const char* route, const std::string& reason) {
  for (LedgerRow& row : entry.rows) {
    if (row.route == route && row.reason == reason) return row;
  }
  LedgerRow& row = entry.rows.emplace_back();
  row.route = route;
  row.reason = reason;
  row.first_use = next_order();
  return row;
}

}  // namespace

int64_t next_order() { return order.fetch_add(1) + 1; }

void count(OperatorEntry& entry, const char* route, const std::string& reason, int64_t bytes, const CallSite& site) {
  const std::lock_guard<std::mutex> lock(mutex);
  LedgerRow& row = row_of(entry, route, reason);
  ++row.calls;
  row.bytes += bytes;
  const auto found = std::find_if(row.sites.begin(), row.sites.end(), [&](auto& seen) { return seen.first == site; });
  if (found != row.sites.end()) {
    ++found->second;
  } else if (row.sites.size() < kSitesPerRow) {
    row.sites.emplace_back(site, 1);
  } else {
    ++row.sites_dropped;
  }
}

void notify_once(OperatorEntry& entry, Notice notice, const std::string& reason, const CallSite& site) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!notified().insert({notice, &entry}).second) return;
  }
  try {
    hooks().warn(notice, entry.recorded_as, reason, site);
  } catch (...) {  // the op did not run: the next attempt must be refused again
    const std::lock_guard<std::mutex> lock(mutex);
    notified().erase({notice, &entry});
    throw;
  }
}

void count_int64(const int64_t* values, int64_t numel) {
  int64_t found = 0;
  for (int64_t i = 0; i < numel; ++i) found += values[i] >= kInt32Limit || values[i] < -kInt32Limit;
  if (found) overflows.fetch_add(found, std::memory_order_relaxed);
}

int64_t int64_overflows() { return overflows; }

std::vector<Snapshot> rows() {
  std::vector<Snapshot> result;
  const auto entries = all_operator_entries();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const OperatorEntry* entry : entries) {
    if (const int64_t calls = entry->native_calls; calls > 0) {
      LedgerRow native;
      native.route = "native";
      native.calls = calls;
      native.bytes = entry->native_bytes;
      native.first_use = entry->native_first_use;
      result.push_back({entry->name, entry->recorded_as, entry->recorded, std::move(native)});
    }
    for (const LedgerRow& row : entry->rows) result.push_back({entry->name, entry->recorded_as, entry->recorded, row});
  }
  std::sort(result.begin(), result.end(),
            [](const Snapshot& a, const Snapshot& b) { return a.row.first_use < b.row.first_use; });
  return result;
}

void clear() {
  compile_cache::restart_time_totals();
  const auto entries = all_operator_entries();
  const std::lock_guard<std::mutex> lock(mutex);
  for (OperatorEntry* entry : entries) {
    entry->native_calls = 0;
    entry->native_bytes = 0;
    entry->native_first_use = 0;
    entry->rows.clear();
  }
  notified().clear();
  overflows = 0;
}

}  // namespace ledger
}  // namespace neuron::launch
