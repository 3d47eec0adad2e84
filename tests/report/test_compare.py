"""What changed between two reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from torch_neuron_sim import OpReport
from torch_neuron_sim.report import OpRow, Outcome
from torch_neuron_sim.report.compilations import Compilations, CompileKey
from torch_neuron_sim.report.peaks import DeviceMemory
from torch_neuron_sim.report.timing import Times

CHANGED = {
    "bytes moved": ((3 << 20) + 100, 1 << 20, "bytes"),
    "calls off the device": (5, 2, "count"),
    "calls on the device": (40, 40, "count"),
    "calls that demote float64": (2, 2, "count"),
    "int64 values beyond 32 bits": (5, 0, "count"),
    "compile keys": (5, 4, "count"),
    "peak memory of neuron:0": (3 << 20, 6 << 20, "bytes"),
    "peak memory of neuron:2": (5 << 20, 0, "bytes"),
    "wall time here": (3.0, 6.0, "seconds"),
    "first run here": (2.5, 2.5, "seconds"),
    "steady state here": (0.5, 3.5, "seconds"),
}


def earlier(report: OpReport) -> Any:
    """The report as read from a file."""
    return json.loads(report.to_json())


@pytest.fixture
def later(full: OpReport, key: Callable[..., CompileKey]) -> OpReport:
    assert full.compilations is not None
    keys = [*full.compilations.keys[:3], key("aten::gelu", (3,))]
    floor = OpRow("aten::floor", "aten::floor.out", "fallback", "no native kernel", 2, 1 << 20, 2, (), 0)
    native = [row for row in full.rows if row.route in ("native", "float64")]
    return replace(
        full,
        rows=[*native, floor],
        int64_overflows=0,
        compilations=Compilations(keys, compiled=4),
        memory=[DeviceMemory(0, 6 << 20, False, 0, 24 << 30, 1)],
        time=Times(0, 2_500_000_000, 6_000_000_000),
    )


def test_what_changed(full: OpReport, later: OpReport) -> None:
    found = later.compare(earlier(full))
    assert (found.new_fallbacks, found.gone_fallbacks) == (["aten::floor.out"], ["aten::argmax.out"])
    assert (found.new_unsupported, found.gone_unsupported) == ([], ["aten::q"])
    assert (found.new_keys, found.gone_keys) == ({"aten::gelu": 1}, {"aten::exp": 1, "aten::linear": 1})
    assert found.device == ("raises", "falls back")
    assert {change.what: (change.earlier, change.later, change.unit) for change in found.figures} == CHANGED
    assert found.context == {}


def test_text(full: OpReport, later: OpReport) -> None:
    text = str(later.compare(earlier(full)))
    assert text.splitlines()[:9] == [
        "Since the earlier report",
        "here: completed, as before",
        "on the real device: raises before, falls back now",
        "newly falls back: aten::floor.out",
        "no longer falls back: aten::argmax.out",
        "newly unsupported: none",
        "no longer unsupported: aten::q",
        "new compile keys: 1 (aten::gelu 1)",
        "gone compile keys: 2 (aten::exp 1, aten::linear 1)",
    ]
    assert "peak memory of neuron:0: 3.0 MiB before, 6.0 MiB now (+100.0 %)" in text
    assert "int64 values beyond 32 bits: 5 before, 0 now (-100.0 %)" in text
    assert "calls on the device: 40, as before" in text


def test_nothing_changed(full: OpReport) -> None:
    found = full.compare(earlier(full))
    assert all(change.earlier == change.later for change in found.figures)
    assert not (found.new_fallbacks or found.gone_fallbacks or found.new_keys or found.gone_keys or found.context)
    assert " before, " not in str(found)


def test_another_table_or_instance_is_said_first(full: OpReport) -> None:
    other = replace(full, coverage="all", outcome=Outcome.of(SystemExit(3)))
    found = other.compare(earlier(full))
    assert found.context == {"coverage": ("snapshot-2026-04", "all")}
    assert str(found).splitlines()[1:3] == [
        "coverage: snapshot-2026-04 before, all now",
        "here: completed before, exit code 3 now",
    ]


def test_what_one_report_does_not_know(full: OpReport, report: OpReport) -> None:
    text = str(full.compare(earlier(report)))
    assert "compile keys: not known before, 5 now" in text
    assert "wall time here: not known before, 3.0 s now" in text


def test_as_data(full: OpReport, later: OpReport) -> None:
    data = later.compare(earlier(full)).to_dict()
    assert data == json.loads(json.dumps(data))
    assert data.keys() == {
        "context",
        "outcome",
        "device",
        "new_fallbacks",
        "gone_fallbacks",
        "new_unsupported",
        "gone_unsupported",
        "new_keys",
        "gone_keys",
        "figures",
    }
    assert data["figures"][0] == {"what": "bytes moved", "earlier": (3 << 20) + 100, "later": 1 << 20, "unit": "bytes"}


def test_other_data_is_refused(full: OpReport) -> None:
    with pytest.raises(ValueError, match="the earlier report: not a report"):
        full.compare({"rows": []})


def test_of_the_same_object_as_dict(full: OpReport) -> None:
    assert full.compare(full.to_dict()) == full.compare(earlier(full))
