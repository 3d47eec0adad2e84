"""The report as text."""

from __future__ import annotations

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import OpReport, op_report
from torch_neuron_sim.report import CallSite, OpRow, text


def test_whole_table(report: OpReport) -> None:
    assert (
        str(report)
        == """\
Operators on neuron (trn2.3xlarge, coverage snapshot-2026-04)
unsupported: 1 operator, 1 call, 100 B moved
fallback: 1 operator, 4 calls, 3.0 MiB moved
float64: 1 operator, 2 calls
native: 2 operators, 40 calls
5 int64 values beyond 32 bits: the real device may narrow them

route        operator          calls  bytes moved  reason
-----------  ----------------  -----  -----------  ------------------------------
fallback     aten::argmax.out      4      3.0 MiB  no native kernel
               /home/<b>user</b>/train & run.py:12 in <lambda> (3 calls)
               EluBackward0 (1 call)
               7 calls from other lines
unsupported  aten::q               1        100 B  no <kernel>
               no Python frame (1 call)
native       aten::exp            30          0 B
native       aten::add.Tensor     10          0 B
float64      aten::add.Tensor      2          0 B  float64 is computed as float32"""
    )


def test_nothing_ran() -> None:
    report = OpReport("all", "trn2.48xlarge", [], 0)
    assert str(report) == "Operators on neuron (trn2.48xlarge, coverage all)\nnothing ran"
    assert repr(report) == "<OpReport: nothing ran>"


def test_repr_is_one_line(report: OpReport) -> None:
    assert repr(report) == (
        "<OpReport: unsupported: 1 operator, 1 call, 100 B moved, fallback: 1 operator, 4 calls, 3.0 MiB moved, "
        "float64: 1 operator, 2 calls, native: 2 operators, 40 calls>"
    )


def test_rows_are_sorted_by_what_costs_most(report: OpReport) -> None:
    assert [row.first_use for row in report.sorted_rows()] == [2, 4, 5, 1, 3]
    assert [row.first_use for row in report.rows] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1.0 MiB"),
        (24 << 30, "24.0 GiB"),
        (5 << 40, "5.0 TiB"),
        (5 << 50, "5120.0 TiB"),
    ],
)
def test_bytes(count: int, expected: str) -> None:
    assert text.format_bytes(count) == expected


def test_call_sites() -> None:
    assert str(CallSite("a.py", 3, "f", 1)) == "a.py:3 in f"
    assert str(CallSite("", 0, "MulBackward0", 1)) == "MulBackward0"
    assert str(CallSite("", 0, "", 1)) == "no Python frame"


def test_lines_have_no_trailing_blanks_and_columns_line_up(report: OpReport) -> None:
    lines = str(report).splitlines()
    assert all(line == line.rstrip() for line in lines)
    start = next(number for number, line in enumerate(lines) if line.startswith("route"))
    column = lines[start].index("reason")
    for line in lines[start + 2 :]:
        if "aten::" in line and len(line) > column:
            assert line[column - 2 : column] == "  "
            assert line[column] != " "


def test_report_of_what_ran() -> None:
    torch_neuron_sim.clear_op_tracking()
    with torch_neuron_sim.fallback_policy("silent"):
        x = torch.ones(1024, device="neuron")
        x.argmax(), x.relu(), x.relu()
    report = op_report()
    assert (report.coverage, report.instance) == ("snapshot-2026-04", torch_neuron_sim.hardware.hardware().instance)
    lines = str(report).splitlines()
    assert lines[1] == "fallback: 1 operator, 1 call, 4.0 KiB moved"
    assert lines[2] == "native: 2 operators, 3 calls"
    assert any("aten::argmax.out" in line and "no native kernel" in line for line in lines)
    assert any(f"{__file__}:" in line and "in test_report_of_what_ran (1 call)" in line for line in lines)


def test_a_later_period_is_added(rows: list[OpRow]) -> None:
    report = OpReport("snapshot-2026-04", "trn2.3xlarge", rows[:2], 1)
    report.add(rows[1:3], 2)
    assert [(row.op, row.route, row.calls, row.bytes, row.sites_dropped) for row in report.rows] == [
        ("aten::add.Tensor", "native", 10, 0, 0),
        ("aten::argmax", "fallback", 8, 6 << 20, 14),
        ("aten::add.Tensor", "float64", 2, 0, 0),
    ]
    assert [site.calls for site in report.rows[1].sites] == [2, 6]
    assert report.int64_overflows == 3
