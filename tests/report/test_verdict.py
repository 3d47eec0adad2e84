"""Whether a program ran here, and whether it would on the real device."""

from __future__ import annotations

import pytest
import torch

from torch_neuron_sim import fallback_policy, record
from torch_neuron_sim.report import CallSite, OpRow, Outcome, verdict

SNAPSHOT = "snapshot-2026-04"


def row(op: str, route: str, reason: str = "", first_use: int = 1) -> OpRow:
    return OpRow(op, op, route, reason, 1, 8, first_use, (CallSite("a.py", 3, "f", 1),), 0)


NATIVE = row("aten::add", "native")
FALLBACK = row("aten::floor", "fallback", "no native kernel")
REFUSED = row("aten::eq", "fallback", "its kernel does not take ComplexFloat")
UNSUPPORTED = row("aten::q", "unsupported", "no kernel", first_use=7)


@pytest.mark.parametrize(
    ("rows", "device", "explanation"),
    [
        ([], "unknown", "no operator ran on neuron"),
        ([NATIVE], "runs", "would run, every operator on the device"),
        ([NATIVE, FALLBACK], "falls back", "would run, with 1 operator on the CPU"),
        ([UNSUPPORTED, FALLBACK], "raises", "would raise at aten::q, called from a.py:3 in f: no kernel"),
        (
            [UNSUPPORTED, row("aten::p", "unsupported", "none", first_use=2)],
            "raises",
            "would raise at aten::p, called from a.py:3 in f: none (and at 1 other operator)",
        ),
    ],
)
def test_of_a_program_that_completed(rows: list[OpRow], device: str, explanation: str) -> None:
    found = verdict.judge(Outcome.of(None), rows, SNAPSHOT)
    assert (found.here, found.device, found.explanation) == ("completed", device, explanation)
    assert "public pre-release source of TorchNeuron of April 2026" in found.basis


def test_refusals_raise_where_only_unimplemented_operators_fall_back() -> None:
    found = verdict.judge(None, [FALLBACK, REFUSED], SNAPSHOT)
    assert found.here == "still running when the report was made"
    assert found.explanation == (
        "would run, with 2 operators on the CPU; 1 of them would raise with "
        "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1, as a kernel refuses the arguments"
    )


def test_an_error_here_leaves_the_rest_open() -> None:
    found = verdict.judge(Outcome.of(ValueError("bad\nlong")), [NATIVE], SNAPSHOT)
    assert (found.here, found.device) == ("raised ValueError: bad", "incomplete")
    assert "what ran until then would run, every operator on the device" in found.explanation


def test_out_of_memory_here_is_out_of_memory_there() -> None:
    with pytest.raises(torch.OutOfMemoryError), record() as report:
        torch.empty(1 << 50, dtype=torch.int8, device="neuron")
    assert report.outcome is not None
    assert report.outcome.type == "torch.OutOfMemoryError"
    found = verdict.judge(report.outcome, [NATIVE], SNAPSHOT)
    assert found.device == "raises"
    assert "do not fit the HBM" in found.explanation


def test_other_tables_are_named_and_all_says_nothing() -> None:
    assert verdict.judge(None, [NATIVE], "all").device == "unknown"
    mine = verdict.judge(None, [NATIVE], "/home/me/table.tsv")
    assert (mine.device, mine.basis) == ("runs", "coverage table /home/me/table.tsv")


def test_of_what_ran() -> None:
    with fallback_policy("silent"), record() as report:
        torch.ones(3, device="neuron").floor()
    assert report.verdict.device == "falls back"


@pytest.mark.parametrize(
    ("error", "outcome", "text", "ok"),
    [
        (None, Outcome("completed"), "completed", True),
        (SystemExit(), Outcome("exited", exit_code=0), "exit code 0", True),
        (SystemExit(3), Outcome("exited", exit_code=3), "exit code 3", False),
        (SystemExit("no data"), Outcome("exited", "", "no data", 1), "exit code 1: no data", False),
        (KeyboardInterrupt(), Outcome("raised", "KeyboardInterrupt"), "raised KeyboardInterrupt", False),
        (
            torch.OutOfMemoryError("full\nmore"),
            Outcome("raised", "torch.OutOfMemoryError", "full\nmore"),
            "raised torch.OutOfMemoryError: full",
            False,
        ),
    ],
)
def test_outcomes(error: BaseException | None, outcome: Outcome, text: str, ok: bool) -> None:
    found = Outcome.of(error)
    assert (found, str(found), found.ok) == (outcome, text, ok)


def test_a_graph_that_does_not_compile_raises() -> None:
    found = verdict.judge(Outcome.of(None), [NATIVE, FALLBACK], SNAPSHOT, refused_graphs=2)
    assert (found.device, found.here) == ("raises", "completed")
    assert found.explanation.startswith("would raise in torch.compile: the real compile fails on 2 graphs")
