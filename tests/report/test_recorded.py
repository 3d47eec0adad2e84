"""The report of a with block: outcome, times and coverage beside its operators."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
import torch

from torch_neuron_sim import OpReport, compile_cache, op_report, record
from torch_neuron_sim.report import Outcome, timing


def test_nothing_is_known_until_the_block_ends() -> None:
    with record() as report:
        torch.ones(3, device="neuron")
        assert (report.outcome, report.time, report.timeline, report.compilations) == (None, None, None, None)
    assert report.outcome == Outcome("completed")
    assert None not in (report.time, report.timeline, report.compilations)


def test_outcome_of_a_block_that_raises_or_exits() -> None:
    with pytest.raises(KeyError), record() as raised:
        raise KeyError("x")
    assert raised.outcome == Outcome("raised", "KeyError", "'x'")
    with pytest.raises(SystemExit), record() as exited:
        sys.exit(4)
    assert exited.outcome == Outcome("exited", exit_code=4)


def test_an_exception_is_not_kept_alive() -> None:
    def fail() -> tuple[OpReport, weakref.ref[torch.Tensor]]:
        x = torch.ones(3)
        found = weakref.ref(x)
        try:
            with record() as report:
                raise ValueError(x)
        except ValueError:
            return report, found

    gc.disable()
    try:
        report, tensor = fail()
        assert tensor() is None
    finally:
        gc.enable()
    assert report.outcome is not None


def test_times_of_nested_blocks() -> None:
    with record() as outer:
        torch.ones(3, device="neuron")
        with record() as inner:
            torch.ones(3, device="neuron")
    assert outer.time is not None
    assert inner.time is not None
    assert 0 < inner.time.wall_s < outer.time.wall_s
    for time in (inner.time, outer.time):
        assert time.begin <= time.last_compilation <= time.end
        assert time.first_run_s + time.steady_s == pytest.approx(time.wall_s)


def test_a_block_without_new_keys_is_all_steady_state() -> None:
    x = torch.ones(3, device="neuron")
    x.exp()
    with record() as report:
        x.exp()
    assert report.time is not None
    assert report.time.first_run_s == 0
    assert any("all of it steady state" in line for line in report.heading())
    assert report.compilations is not None
    assert (report.compilations.compiled, [key.compiled for key in report.compilations.keys]) == (0, [False])


def test_clearing_the_compile_cache_within_a_block_forgets_nothing_of_the_block() -> None:
    x = torch.ones(3, device="neuron")
    with record() as report:
        x.exp()
        compile_cache.clear()
        x.exp(), x.exp()
    assert report.compilations is not None
    (key,) = (key for key in report.compilations.keys if key.op == "aten::exp")
    assert key.calls == 3


def test_time_of_the_process() -> None:
    torch.ones(3, device="neuron").exp()
    time = op_report().time
    assert time is not None
    assert 0 < time.begin <= time.last_compilation <= time.end <= timing.now()
