"""The coverage table that is in force in this process."""

import os

from torch_neuron_sim import _C
from torch_neuron_sim.coverage import table as tables

VARIABLE = "TORCH_NEURON_SIM_COVERAGE"

# TorchNeuron never lists these as fallback, although they do fall back (snapshot, csrc/core/NeuronBindings.cpp).
# Partial: its list has 37 view-like names, not all known; of those known, these have a CPU kernel to fall back to.
UNRECORDED = ("aten::unfold", "aten::view_as_complex", "aten::view_as_real")

_active = tables.Table(tables.ALL, {}, default_route="native")


def load_coverage(name: str | os.PathLike[str]) -> None:
    """Chooses the coverage table: a shipped name, ``"all"``, or the path of a file.

    Raises ValueError for an unknown name or a bad line (with file and line), RuntimeError once a device tensor exists.
    """
    apply(tables.load(name))


def coverage_name() -> str:
    """The name, or path, of the table in force."""
    return _active.name


def coverage_table() -> tables.Table:
    """The table in force."""
    return _active


def table_from_environment() -> tables.Table:
    """The table that TORCH_NEURON_SIM_COVERAGE names; ValueError when it names none."""
    try:
        return tables.load(os.environ.get(VARIABLE) or tables.DEFAULT)
    except ValueError as error:
        raise ValueError(f"{VARIABLE}: {error}") from None


def apply(table: tables.Table) -> None:
    """Puts a table in force."""
    global _active
    rows = [(row.op, row.route, row.recorded_as, row.refuses) for row in table.rows.values()]
    # Allocation, copies, views and the kernels written for the device are native unless the table has a row for them.
    # A table that makes everything native stays without rows: that is how the launch knows that it refuses no dtype.
    if table.default_route != "native":
        rows += [(op, "native", op, ()) for op in _C.hand_registered() if op not in table.rows]
    _C.set_coverage(table.name, rows, table.default_route)
    _active = table
