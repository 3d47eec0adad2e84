"""Compares the routes that the ledger records with the coverage table."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

import torch_neuron_sim
from harness.record import Record
from torch_neuron_sim import _C

# The device has no arithmetic for these (TorchNeuron: complex has no kernels, trn2 refuses e4m3fn, no wide unsigned).
_NEVER_NATIVE = ("ComplexHalf", "ComplexFloat", "ComplexDouble", "Float8_e4m3fn", "UInt16", "UInt32", "UInt64")
_REFUSALS = tuple(f"its kernel does not take {dtype}" for dtype in _NEVER_NATIVE)

# TorchNeuron has no kernel for these views and never lists them as fallbacks either: no row in the ledger.
UNRECORDED = ("aten::view_as_complex", "aten::view_as_real")


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


class Ledger:
    """The operators that run from here on."""

    def __init__(self) -> None:
        _C.clear_ledger()

    def check(self, record: Record) -> None:
        for row in _C.ledger_rows():
            if row["op"] in UNRECORDED:
                continue
            with record.sample("routes", row["op"]):
                self._check(record, row["op"], row["route"], row["reason"])

    def _check(self, record: Record, op: str, found: str, reason: str) -> None:
        wanted = route(op)
        if wanted == "native" and found == "fallback":
            if reason not in _REFUSALS:
                record.fail("routes", f"native in the table, fell back: {reason}", op)
        elif found != wanted:
            record.fail("routes", f"{wanted} in the table, ran as {found}", op)
