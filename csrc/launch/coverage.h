// The coverage table as launch sees it.
#pragma once

#include <string>
#include <vector>

#include "launch/operator_entry.h"

namespace neuron::launch {

struct CoverageRow {
  std::string op;
  Route route;
  std::string recorded_as;
  DtypeSet refused;
};

struct ComputeDtypeRow {
  std::string op;
  ComputeDtype rule;
};

// The entry of an operator; made at first use, never destroyed.
OperatorEntry& operator_entry(const std::string& name);
std::vector<OperatorEntry*> all_operator_entries();

// Replaces the table. Operators without a row get `default_route`; operators outside aten always fall back to CPU
// unless the table names them. RuntimeError once a device tensor exists.
void set_coverage(const std::vector<CoverageRow>& rows, Route default_route);
// Replaces what is known of dtypes that CPU's kernels lack; an operator may have several rows. RuntimeError once a
// device tensor exists.
void set_compute_dtypes(const std::vector<ComputeDtypeRow>& rows);
// Names that the product never records as fallback, without overload.
void set_unrecorded(const std::vector<std::string>& names);

// Recomputes every entry's `careful` after a change of policy or RNG mode; or makes every call careful, as a forked
// child must refuse them all.
void refresh_careful_dtypes();
void make_every_call_careful();

}  // namespace neuron::launch
