"""The operators that ran on the device, as the ledger tells, and the routes that the coverage table says they take."""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

import torch_neuron_sim
from torch_neuron_sim import _C

# The device has no arithmetic for these (TorchNeuron: complex has no kernels, its types have one float8 and no wide
# unsigned integers).
_NEVER_NATIVE = (
    *("ComplexHalf", "ComplexFloat", "ComplexDouble"),
    *("Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2fnuz", "Float8_e8m0fnu"),
    *("UInt16", "UInt32", "UInt64"),
)
_REFUSALS = tuple(f"its kernel does not take {dtype}" for dtype in _NEVER_NATIVE)

# TorchNeuron has no kernel for these views and never lists them as fallbacks either: no row in the ledger.
UNRECORDED = ("aten::view_as_complex", "aten::view_as_real")


class Ran(NamedTuple):
    """An operator, and the route by which it ran."""

    op: str
    route: str
    reason: str


def clear() -> None:
    _C.clear_ledger()


def ran() -> frozenset[Ran]:
    """What ran since ``clear()``."""
    return frozenset(
        Ran(row["op"], row["route"], row["reason"]) for row in _C.ledger_rows() if row["op"] not in UNRECORDED
    )


@functools.cache
def table() -> dict[str, str]:
    """The route of each operator, read from the table's file."""
    path = Path(torch_neuron_sim.coverage.__file__).parent / "snapshot-2026-04.tsv"
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return {row["op"]: row["route"] for row in csv.DictReader(lines, delimiter="\t")}


@functools.cache
def _by_hand() -> frozenset[str]:
    return frozenset(_C.hand_registered())


def route(op: str) -> str:
    """The route of an operator: its row; without one, what allocates or copies is native, and the rest falls back."""
    if op in table():
        return table()[op]
    return "native" if op in _by_hand() else "fallback"


def wrong_route(found: Ran) -> str:
    """How the route differs from the table's; empty if it does not."""
    wanted = route(found.op)
    if wanted == "native" and found.route == "fallback":
        return "" if found.reason in _REFUSALS else f"native in the table, fell back: {found.reason}"
    return "" if found.route == wanted else f"{wanted} in the table, ran as {found.route}"
