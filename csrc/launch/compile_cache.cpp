#include "launch/compile_cache.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "launch/coverage.h"
#include "launch/ledger.h"

namespace neuron::launch::compile_cache {
namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point loaded = Clock::now();

int64_t now_ns() { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - loaded).count(); }

constexpr size_t kMaxKeys = 1 << 16;

// The values that each dimension and integer argument of an op took, among keys of one structure.
struct Variation {
  std::vector<std::set<int64_t>> values;
};

struct Kept {
  CompiledKey* key;
  std::list<uint64_t>::iterator used;  // valid while there is a limit
};

struct Cache {
  std::mutex mutex;
  std::unordered_map<uint64_t, Kept> keys;
  std::list<uint64_t> by_use;  // the latest first; kept while there is a limit
  std::unordered_map<const OperatorEntry*, std::unordered_map<uint64_t, Variation>> variations;
  std::unordered_set<uint64_t> on_disk;
  bool uses_disk = false;
  bool enabled = true;
  size_t max_entries = 0;
  size_t recompile_limit = 32;
  Statistics counted{};  // without the hits of keys that are still there
};

Cache& cache() {
  static auto* instance = new Cache;
  return *instance;
}

// All the rest requires the mutex.

std::string named_position(const KeyDescription& description, size_t position) {
  for (size_t input = 0; input < description.inputs.size(); ++input) {
    const size_t dims = description.inputs[input].sizes.size();
    if (position < dims) return "dimension " + std::to_string(position) + " of input " + std::to_string(input);
    position -= dims;
  }
  return "its integer argument " + std::to_string(position);
}

std::string listed(const std::set<int64_t>& values) {
  constexpr size_t kShown = 4;
  std::string text;
  for (auto value = values.begin(); value != values.end() && std::distance(values.begin(), value) < long(kShown);) {
    text += std::to_string(*value++) + ", ";
  }
  return text + "...";
}

// Notes the values of a new key; the reason for a warning when one position has taken too many.
std::string note_variation(Cache& all, const OperatorEntry& entry, const KeyDescription& description) {
  if (!all.recompile_limit) return {};
  Variation& variation = all.variations[&entry][description.structure()];
  size_t position = 0;
  std::optional<size_t> exceeded;
  const auto note = [&](int64_t value) {
    if (variation.values.size() <= position) variation.values.emplace_back();
    auto& values = variation.values[position];
    if (values.size() <= all.recompile_limit) values.insert(value);
    if (values.size() > all.recompile_limit && !exceeded) exceeded = position;
    ++position;
  };
  for (const KeyedTensor& input : description.inputs) std::for_each(input.sizes.begin(), input.sizes.end(), note);
  std::for_each(description.integers.begin(), description.integers.end(), note);
  if (!exceeded) return {};
  return named_position(description, *exceeded) + " has taken more than " + std::to_string(all.recompile_limit) +
         " values (" + listed(variation.values[*exceeded]) + ")";
}

// Calls of a program since the totals were restarted.
int64_t uncounted_calls(const CompiledKey& key) { return key.hits - key.hits_counted + !key.first_counted; }

void forget(Cache& all, std::unordered_map<uint64_t, Kept>::iterator kept) {
  CompiledKey* key = kept->second.key;
  CompiledKey* expected = key;
  key->entry.recent_keys[key->hash % OperatorEntry::kRecentKeys].compare_exchange_strong(expected, nullptr);
  all.counted.in_memory_hits += key->hits;
  add_calls(key->entry.time, key->duration, uncounted_calls(*key));
  key->description = {};  // no lock-free reader looks at it
  all.keys.erase(kept);
}

void evict(Cache& all) {
  while (all.max_entries && all.keys.size() > all.max_entries) {
    forget(all, all.keys.find(all.by_use.back()));
    all.by_use.pop_back();
    ++all.counted.evictions;
  }
}

}  // namespace

CompiledKey* find(OperatorEntry& entry, uint64_t hash) {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.keys.find(hash);
  if (found == all.keys.end()) return nullptr;
  if (all.max_entries) {
    all.by_use.splice(all.by_use.begin(), all.by_use, found->second.used);
  } else {
    entry.recent_keys[hash % OperatorEntry::kRecentKeys].store(found->second.key, std::memory_order_release);
  }
  return found->second.key;
}

void announce(OperatorEntry& entry, const KeyDescription& description) {
  std::string reason;
  {
    Cache& all = cache();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.enabled) reason = note_variation(all, entry, description);
  }
  if (!reason.empty()) ledger::notify_once(entry, Notice::kRecompile, reason, source_hooks().capture());
}

Duration add(OperatorEntry& entry, uint64_t hash, KeyDescription&& description) {
  Cache& all = cache();
  CallSite site = source_hooks().capture();  // takes Python's lock: not under ours
  const Duration duration = duration_of(entry, description);
  const std::lock_guard<std::mutex> lock(all.mutex);
  Statistics& counted = all.counted;
  counted.last_compilation_ns = now_ns();
  if (!counted.first_op_ns) counted.first_op_ns = counted.last_compilation_ns;
  ++counted.in_memory_misses;
  const bool persistent = all.enabled && all.on_disk.count(hash);
  if (all.uses_disk) ++(persistent ? counted.persistent_hits : counted.persistent_misses);
  if (!persistent) {
    ++counted.total_compilations;
    compile_on_clock();
  }
  const bool full = all.keys.size() >= kMaxKeys;
  if (!all.enabled || full || all.keys.count(hash)) {  // the last: another thread was first
    counted.dropped += all.enabled && full;
    add_calls(entry.time, duration, 1);
    return duration;
  }
  auto* key = new CompiledKey(hash, entry);
  key->description = std::move(description);
  key->site = std::move(site);
  key->first_use = ledger::next_order();
  key->first_ns = counted.last_compilation_ns;
  key->duration = duration;
  key->persistent = persistent;
  Kept& kept = all.keys[hash];
  kept.key = key;
  if (all.max_entries) {
    all.by_use.push_front(hash);
    kept.used = all.by_use.begin();
    evict(all);
  } else {
    entry.recent_keys[hash % OperatorEntry::kRecentKeys].store(key, std::memory_order_release);
  }
  return duration;
}

std::vector<std::pair<const OperatorEntry*, TimeTotals>> time_totals() {
  const std::vector<OperatorEntry*> entries = all_operator_entries();
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::unordered_map<const OperatorEntry*, TimeTotals> totals;
  for (const OperatorEntry* entry : entries) {
    if (entry->time.calls) totals[entry] = entry->time;
  }
  for (const auto& [hash, kept] : all.keys) {
    if (const int64_t calls = uncounted_calls(*kept.key)) {
      add_calls(totals[&kept.key->entry], kept.key->duration, calls);
    }
  }
  return {totals.begin(), totals.end()};
}

void restart_time_totals() {
  const std::vector<OperatorEntry*> entries = all_operator_entries();
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (OperatorEntry* entry : entries) entry->time = {};
  for (auto& [hash, kept] : all.keys) {
    kept.key->hits_counted = kept.key->hits;
    kept.key->first_counted = true;
  }
}

void count_time(OperatorEntry& entry, const Duration& duration) {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  add_calls(entry.time, duration, 1);
}

Statistics statistics() {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Statistics result = all.counted;
  for (const auto& [hash, kept] : all.keys) result.in_memory_hits += kept.key->hits;
  result.total_entries = static_cast<int64_t>(all.keys.size());
  result.now_ns = now_ns();
  return result;
}

std::vector<CompiledProgram> programs() {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<CompiledProgram> result;
  result.reserve(all.keys.size());
  for (const auto& [hash, kept] : all.keys) {
    const CompiledKey& key = *kept.key;
    result.push_back({key.entry.name, key.description, key.site, key.hits, key.first_use, key.first_ns, key.duration,
                      key.persistent});
  }
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.first_use < b.first_use; });
  return result;
}

std::vector<uint64_t> hashes() {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<uint64_t> result;
  for (const auto& [hash, kept] : all.keys) result.push_back(hash);
  return result;
}

void clear() {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  while (!all.keys.empty()) forget(all, all.keys.begin());
  all.by_use.clear();
  all.variations.clear();
  all.counted = {};
}

void set_enabled(bool enabled) {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.enabled = enabled;
  while (!enabled && !all.keys.empty()) forget(all, all.keys.begin());
  if (!enabled) all.by_use.clear();
}

void set_max_entries(size_t count) {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.max_entries = count;
  all.by_use.clear();
  for (auto& [hash, kept] : all.keys) {
    auto& recent = kept.key->entry.recent_keys[hash % OperatorEntry::kRecentKeys];
    if (count) recent.store(nullptr);
    all.by_use.push_back(hash);
    kept.used = std::prev(all.by_use.end());
  }
  evict(all);
}

void preload(const std::vector<uint64_t>& hashes) {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.on_disk.insert(hashes.begin(), hashes.end());
  all.uses_disk = true;
}

void set_recompile_limit(size_t count) {
  Cache& all = cache();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.recompile_limit = count;
  all.variations.clear();
}

}  // namespace neuron::launch::compile_cache
