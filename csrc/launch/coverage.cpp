#include "launch/coverage.h"

#include <c10/util/Exception.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "backend/generator.h"
#include "backend/runtime.h"
#include "launch/compile_key.h"
#include "launch/policy.h"

namespace neuron::launch {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<OperatorEntry>> entries;
  std::unordered_map<std::string, CoverageRow> rows;
  std::unordered_map<std::string, std::vector<ComputeDtype>> compute_dtypes;
  std::unordered_set<std::string> unrecorded;
  Route default_route = Route::kNative;
};

Table& table() {
  static auto* instance = new Table;
  return *instance;
}

DtypeSet careful_dtypes(const OperatorEntry& entry) {
  if (entry.route != Route::kNative) return kAllDtypes;
  // Only the boxed path lets a kernel draw from the device's own stream.
  if (entry.draws && backend::rng_mode() == backend::RngMode::kDevice) return kAllDtypes;
  DtypeSet careful = entry.refused;
  for (const ComputeDtype& rule : entry.compute_dtypes) careful |= rule.dtypes;
  if (float64_policy() != Float64Policy::kExact) careful |= dtype_bit(c10::ScalarType::Double);
  return careful;
}

// Requires the mutex.
void apply_table(const Table& table, OperatorEntry& entry) {
  const auto row = table.rows.find(entry.name);
  const bool listed = row != table.rows.end();
  entry.route =
      listed ? row->second.route : (entry.name.rfind("aten::", 0) == 0 ? table.default_route : Route::kFallback);
  entry.recorded_as = listed ? row->second.recorded_as : entry.name;
  // A table without rows ("all") refuses nothing.
  entry.refused = table.rows.empty() ? 0 : kNeverNative | (listed ? row->second.refused : 0);
  const auto computed = table.compute_dtypes.find(entry.name);
  entry.compute_dtypes = computed == table.compute_dtypes.end() ? std::vector<ComputeDtype>() : computed->second;
  entry.recorded = table.unrecorded.count(entry.name) == 0;
  entry.careful = careful_dtypes(entry);
}

}  // namespace

OperatorEntry& operator_entry(const std::string& name) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto& slot = all.entries[name];
  if (!slot) {
    slot = std::make_unique<OperatorEntry>();
    slot->name = name;
    KeyHash seed(0);
    seed.text(name);
    slot->key_seed = seed.hash();
    apply_table(all, *slot);
  }
  return *slot;
}

std::vector<OperatorEntry*> all_operator_entries() {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<OperatorEntry*> entries;
  entries.reserve(all.entries.size());
  for (auto& [name, entry] : all.entries) entries.push_back(entry.get());
  return entries;
}

void set_coverage(const std::vector<CoverageRow>& rows, Route default_route) {
  TORCH_CHECK(
      !backend::is_started(),
      "load_coverage: a neuron tensor already exists in this process; choose the coverage table before the first "
      "one is made, or set TORCH_NEURON_SIM_COVERAGE");
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.rows.clear();
  all.rows.reserve(rows.size());
  for (const CoverageRow& row : rows) all.rows.emplace(row.op, row);
  all.default_route = default_route;
  for (auto& [name, entry] : all.entries) apply_table(all, *entry);
}

void set_compute_dtypes(const std::vector<ComputeDtypeRow>& rows) {
  TORCH_CHECK(!backend::is_started(), "set_compute_dtypes: a neuron tensor already exists in this process");
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.compute_dtypes.clear();
  for (const ComputeDtypeRow& row : rows) all.compute_dtypes[row.op].push_back(row.rule);
  for (auto& [name, entry] : all.entries) apply_table(all, *entry);
}

void set_unrecorded(const std::vector<std::string>& names) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.unrecorded.clear();
  all.unrecorded.insert(names.begin(), names.end());
  for (auto& [name, entry] : all.entries) apply_table(all, *entry);
}

void refresh_careful_dtypes() {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (auto& [name, entry] : all.entries) entry->careful = careful_dtypes(*entry);
}

// No lock: called in a forked child, where the one thread that exists may have forked while another held it.
void make_every_call_careful() {
  for (auto& [name, entry] : table().entries) entry->careful = kAllDtypes;
}

}  // namespace neuron::launch
