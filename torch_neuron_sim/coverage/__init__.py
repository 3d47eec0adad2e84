"""Op coverage as data: which operators the device runs itself, which fall back to the CPU, which it refuses.

Legal names of a table: ``snapshot-2026-04`` (the default), ``all`` (every aten operator native: for testing
device-generic code), or the path of a file in the same format.
"""

from torch_neuron_sim.coverage.active import (
    UNRECORDED,
    VARIABLE,
    apply,
    coverage_name,
    coverage_table,
    load_coverage,
    table_from_environment,
)
from torch_neuron_sim.coverage.table import DEFAULT, Row, Table, load, names

__all__ = [
    "DEFAULT",
    "UNRECORDED",
    "VARIABLE",
    "Row",
    "Table",
    "apply",
    "coverage_name",
    "coverage_table",
    "load",
    "load_coverage",
    "names",
    "table_from_environment",
]
