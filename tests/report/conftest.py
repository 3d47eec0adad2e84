"""Rows to format, with texts that a careless formatter would spoil."""

from __future__ import annotations

import pytest

from torch_neuron_sim import OpReport
from torch_neuron_sim.report import CallSite, OpRow


@pytest.fixture
def rows() -> list[OpRow]:
    spoiler = CallSite("/home/<b>user</b>/train & run.py", 12, "<lambda>", 3)
    backward = CallSite("", 0, "EluBackward0", 1)
    return [
        OpRow("aten::add.Tensor", "aten::add.Tensor", "native", "", 10, 0, 1, (), 0),
        OpRow(
            "aten::argmax", "aten::argmax.out", "fallback", "no native kernel", 4, 3 << 20, 2, (backward, spoiler), 7
        ),
        OpRow("aten::add.Tensor", "aten::add.Tensor", "float64", "float64 is computed as float32", 2, 0, 3, (), 0),
        OpRow("aten::q", "aten::q", "unsupported", "no <kernel>", 1, 100, 4, (CallSite("", 0, "", 1),), 0),
        OpRow("aten::exp", "aten::exp", "native", "", 30, 0, 5, (), 0),
    ]


@pytest.fixture
def report(rows: list[OpRow]) -> OpReport:
    return OpReport("snapshot-2026-04", "trn2.3xlarge", rows, 5)
