"""The report as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import OpReport, op_report
from torch_neuron_sim.report import CallSite, OpRow, formats, summary, text
from torch_neuron_sim.report.compilations import Compilations, CompileKey


def test_whole_table(report: OpReport) -> None:
    assert (
        str(report).partition("\n\nAdvice:")[0]
        == """\
Operators on neuron (trn2.3xlarge, coverage snapshot-2026-04)
here: still running when the report was made
on the real device: would raise at aten::q: no <kernel>
basis: coverage table snapshot-2026-04, from the public pre-release source of TorchNeuron of April 2026; a later \
release may run more operators
unsupported: 1 operator, 1 call, 100 B moved, <0.1 % of all bytes
fallback: 1 operator, 4 calls, 3.0 MiB moved, 25.0 % of all bytes
float64: 1 operator, 2 calls computed as float32
native: 2 operators, 40 calls, 9.0 MiB read and written, 75.0 % of all bytes
int64: 5 values beyond 32 bits; the real device may narrow them

route        operator          calls    bytes  reason
-----------  ----------------  -----  -------  ------------------------------
fallback     aten::argmax.out      4  3.0 MiB  no native kernel
               /home/<b>user</b>/train & run.py:12 in <lambda> (3 calls)
               EluBackward0 (1 call)
               7 calls from other lines
unsupported  aten::q               1    100 B  no <kernel>
               no Python frame (1 call)
native       aten::add.Tensor     10  9.0 MiB
native       aten::exp            30      0 B
float64      aten::add.Tensor      2      0 B  float64 is computed as float32"""
    )


def test_sections_after_the_table(full: OpReport) -> None:
    lines = str(full).splitlines()
    assert lines[1] == "here: completed"
    assert "compile keys: 5 distinct, 4 compilations, 1 found on disk" in lines
    assert "peak memory: neuron:0 3.0 MiB of 24.0 GiB; neuron:2 5.0 MiB of 24.0 GiB, the largest of samples" in lines
    assert (
        "wall time here: 3.0 s: first run 2.5 s (up to the last new compile key), steady state 500.0 ms (after it)"
        in lines
    )
    shapes = lines.index("Compile keys by shape:")
    assert lines[shapes + 1] == "- aten::linear: 4 keys; dimension 1 of input 0 took 4 values (5, 6, 7, 9)"
    assert any(line.startswith("- ") and line.endswith("]") for line in lines[lines.index("Advice:") :])


def test_keys_of_layers_with_other_sizes_are_not_listed(report: OpReport, key: Callable[..., CompileKey]) -> None:
    layers = [key("linear", (8, width), (2 * width, width)) for width in range(1, 30)]
    sizes = [key("sum", (width, 2 * width), static=f"size={width}") for width in range(1, 30)]
    few = [key("mean", (width,), static=str(width)) for width in range(1, 4)]
    shown = summary.shapes(replace(report, compilations=Compilations([*layers, *sizes, *few])))
    assert [each.op for each in shown] == ["sum"]


def test_nothing_ran() -> None:
    report = OpReport("all", "trn2.48xlarge", [], 0)
    assert str(report) == (
        "Operators on neuron (trn2.48xlarge, coverage all)\nhere: still running when the report was made\nnothing ran"
    )
    assert repr(report) == "<OpReport: nothing ran>"


def test_repr_is_one_line(report: OpReport) -> None:
    assert repr(report) == (
        "<OpReport: unsupported: 1 operator, 1 call, 100 B moved, <0.1 % of all bytes, "
        "fallback: 1 operator, 4 calls, 3.0 MiB moved, 25.0 % of all bytes, "
        "float64: 1 operator, 2 calls computed as float32, "
        "native: 2 operators, 40 calls, 9.0 MiB read and written, 75.0 % of all bytes>"
    )


def test_rows_are_sorted_by_what_costs_most(report: OpReport) -> None:
    assert [row.first_use for row in report.sorted_rows()] == [2, 4, 1, 5, 3]
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
    lines = text.render(report.heading(), report.sorted_rows()).splitlines()
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
    assert "on the real device: would run, with 1 operator on the CPU" in lines
    assert any(line.startswith("fallback: 1 operator, 1 call, 4.0 KiB moved") for line in lines)
    assert any(line.startswith("native: 2 operators, 3 calls") for line in lines)
    assert any("aten::argmax.out" in line and "no native kernel" in line for line in lines)
    assert any(
        f"{formats.relative(__file__)}:" in line and "test_report_of_what_ran (1 call)" in line for line in lines
    )


def test_paths_below_the_current_directory_are_relative(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert formats.relative(str(tmp_path / "train" / "step.py")) == "train/step.py"
    for other in (f"{tmp_path}2/a.py", "/elsewhere/a.py", "a.py", "<stdin>", ""):
        assert formats.relative(other) == other
    row = OpRow("a", "a", "fallback", "", 1, 0, 1, (CallSite(str(tmp_path / "step.py"), 3, "f", 1),), 0)
    assert text.sites(row) == ["step.py:3 in f (1 call)"]


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0 us"), (5e-6, "5 us"), (0.0123, "12.3 ms"), (0.5, "500.0 ms"), (75.04, "75.0 s")]
)
def test_seconds(seconds: float, expected: str) -> None:
    assert formats.format_seconds(seconds) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(0, 7, "0.0 %"), (1, 10**9, "<0.1 %"), (1, 3, "33.3 %"), (10**9 - 1, 10**9, ">99.9 %"), (7, 7, "100.0 %")],
)
def test_shares(part: int, whole: int, expected: str) -> None:
    assert formats.format_share(part, whole) == expected


def test_a_later_period_is_added(rows: list[OpRow]) -> None:
    report = OpReport("snapshot-2026-04", "trn2.3xlarge", rows[:2], 1)
    report.add(rows[1:3], 2)
    assert [(row.op, row.route, row.calls, row.bytes, row.sites_dropped) for row in report.rows] == [
        ("aten::add.Tensor", "native", 10, 9 << 20, 0),
        ("aten::argmax", "fallback", 8, 6 << 20, 14),
        ("aten::add.Tensor", "float64", 2, 0, 0),
    ]
    assert [site.calls for site in report.rows[1].sites] == [2, 6]
    assert report.int64_overflows == 3
