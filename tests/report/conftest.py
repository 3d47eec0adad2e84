"""Rows and reports to format, with texts that a careless formatter would spoil."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from torch_neuron_sim import OpReport
from torch_neuron_sim.report import CallSite, OpRow, Outcome
from torch_neuron_sim.report.compilations import Compilations, CompileKey, TensorKey
from torch_neuron_sim.report.peaks import DeviceMemory
from torch_neuron_sim.report.rows import Place
from torch_neuron_sim.report.timeline import Timeline
from torch_neuron_sim.report.timing import Times

GIB = 1 << 30


@pytest.fixture
def rows() -> list[OpRow]:
    spoiler = CallSite("/home/<b>user</b>/train & run.py", 12, "<lambda>", 3)
    backward = CallSite("", 0, "EluBackward0", 1)
    return [
        OpRow("aten::add.Tensor", "aten::add.Tensor", "native", "", 10, 9 << 20, 1, (), 0),
        OpRow(
            "aten::argmax", "aten::argmax.out", "fallback", "no native kernel", 4, 3 << 20, 2, (backward, spoiler), 7
        ),
        OpRow("aten::add.Tensor", "aten::add.Tensor", "float64", "float64 is computed as float32", 2, 0, 3, (), 0),
        OpRow("aten::q", "aten::q", "unsupported", "no <kernel>", 1, 100, 4, (CallSite("", 0, "", 1),), 0),
        OpRow("aten::exp", "aten::exp", "native", "", 30, 0, 5, (), 0),
    ]


@pytest.fixture
def report(rows: list[OpRow]) -> OpReport:
    """Operators alone: nothing is known of keys, memory and time."""
    return OpReport("snapshot-2026-04", "trn2.3xlarge", rows, 5)


@pytest.fixture
def key() -> Callable[..., CompileKey]:
    """``key(op, (2, 3), (3,), ...)``: a float32 compile key with inputs of these shapes."""
    count = 0

    def make(op: str, *shapes: Sequence[int], **fields: Any) -> CompileKey:
        nonlocal count
        count += 1
        known: dict[str, Any] = {
            "inputs": tuple(TensorKey(tuple(shape), "float32") for shape in shapes),
            "static": "",
            "calls": 1,
            "compiled": True,
            "persistent": False,
            "first_use": count,
            "first_ns": count,
            "site": None,
        }
        return CompileKey(op, **(known | fields))

    return make


@pytest.fixture
def full(rows: list[OpRow], key: Callable[..., CompileKey]) -> OpReport:
    """A report that knows everything."""
    keys = [key("aten::linear", (8, length), (length, 4), calls=2) for length in (5, 6, 7, 9)]
    return OpReport(
        "snapshot-2026-04",
        "trn2.3xlarge",
        rows,
        5,
        compilations=Compilations(
            [*keys, key("aten::exp", (3,), site=Place("model.py", 7, "forward"))], compiled=4, loaded=1
        ),
        memory=[
            DeviceMemory(0, 3 << 20, False, 1 << 20, 24 * GIB, 1),
            DeviceMemory(2, 5 << 20, True, 0, 24 * GIB, 1),
        ],
        time=Times(1_000_000_000, 3_500_000_000, 4_000_000_000),
        timeline=Timeline(
            [0.0, 1.0, 2.0, 3.0],
            {0: [0, 3 << 20, 2 << 20, 1 << 20], 2: [0, 4 << 20, 0, 0]},
            [0, 10, 40, 40],
            [0, 1, 5, 5],
        ),
        outcome=Outcome.of(None),
    )
