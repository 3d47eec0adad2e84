// The simulated NEFF cache: which programs the native operators of this process would have compiled.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "launch/call_site.h"
#include "launch/compile_key.h"
#include "launch/operator_entry.h"
#include "launch/timing.h"

namespace neuron::launch {

// One compiled program. Made once, never freed: the hot path holds pointers without a lock.
struct CompiledKey {
  CompiledKey(uint64_t hash, OperatorEntry& entry) : hash(hash), entry(entry) {}

  const uint64_t hash;
  OperatorEntry& entry;
  std::atomic<int64_t> hits{0};
  KeyDescription description;
  CallSite site;
  int64_t first_use = 0;     // order number, as the ledger's
  int64_t first_ns = 0;      // since the extension was loaded
  int64_t hits_counted = 0;  // of earlier periods (see restart_time_totals)
  bool first_counted = false;
  Duration duration;
  bool persistent = false;
};

// A copy of one for readers.
struct CompiledProgram {
  std::string op;
  KeyDescription description;
  CallSite site;
  int64_t hits, first_use, first_ns;
  Duration duration;
  bool persistent;
};

namespace compile_cache {

// Null when the op has no such program, or not among its recent ones.
inline CompiledKey* recent(const OperatorEntry& entry, uint64_t hash) {
  CompiledKey* key = entry.recent_keys[hash % OperatorEntry::kRecentKeys].load(std::memory_order_acquire);
  return C10_LIKELY(key && key->hash == hash) ? key : nullptr;
}

CompiledKey* find(OperatorEntry& entry, uint64_t hash);
// Warns, before anything runs, when the op has compiled for too many shapes.
void announce(OperatorEntry& entry, const KeyDescription& description);
// A call ran whose program is new. Returns what such a call takes.
Duration add(OperatorEntry& entry, uint64_t hash, KeyDescription&& description);

struct Statistics {
  int64_t in_memory_hits, in_memory_misses;
  int64_t persistent_hits, persistent_misses;
  int64_t total_compilations, evictions;
  int64_t total_entries;
  int64_t dropped;  // programs that were counted but not kept, as there were too many
  int64_t first_op_ns, last_compilation_ns, now_ns;
};
Statistics statistics();
// In order of first use, without those that were cleared or evicted.
std::vector<CompiledProgram> programs();
std::vector<uint64_t> hashes();

void clear();

// What calls took on the simulated device since restart_time_totals(), by op.
std::vector<std::pair<const OperatorEntry*, TimeTotals>> time_totals();
void restart_time_totals();
// A call that has no program: a fallback, or a copy.
void count_time(OperatorEntry& entry, const Duration& duration);

// Disabled: nothing is kept, so every call compiles.
void set_enabled(bool enabled);
// Keeps at most so many programs and evicts the one that was used longest ago; 0: no limit.
void set_max_entries(size_t count);
// Programs that an earlier process compiled and kept on disk.
void preload(const std::vector<uint64_t>& hashes);
// Distinct values of one dimension (or integer argument) beyond which an op warns; 0: never.
void set_recompile_limit(size_t count);

}  // namespace compile_cache

// The program of one native call: looked up before the kernel runs, counted after it.
class Compilation {
 public:
  Compilation(OperatorEntry& entry, uint64_t hash) : entry_(entry), hash_(hash) {
    key_ = compile_cache::recent(entry, hash);
    if (C10_UNLIKELY(!key_)) key_ = compile_cache::find(entry, hash);
  }

  bool is_new() const { return !key_; }
  void describe(KeyDescription&& description) {
    compile_cache::announce(entry_, description);
    description_ = std::move(description);
  }
  // To be filled with the results; nullptr when the program is known.
  KeyDescription* description() { return description_.has_value() ? &*description_ : nullptr; }
  void finish(int device) {
    if (C10_LIKELY(key_ != nullptr)) {
      key_->hits.fetch_add(1, std::memory_order_relaxed);
      run_on_clock(device, entry_, key_->duration);
    } else {
      run_on_clock(device, entry_, compile_cache::add(entry_, hash_, std::move(*description_)));
    }
  }

 private:
  OperatorEntry& entry_;
  const uint64_t hash_;
  CompiledKey* key_;
  std::optional<KeyDescription> description_;
};

}  // namespace neuron::launch
