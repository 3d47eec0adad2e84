"""Memory and operators over time: what is kept, and the thread that samples."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_neuron_sim import clear_op_tracking, op_report, record
from torch_neuron_sim.report import plots
from torch_neuron_sim.report.sampler import sampler
from torch_neuron_sim.report.timeline import LIMIT, SHORTEST_NS, Sample, Tape, Timeline

NAME = "neuron_sim_sampler"
pytestmark = pytest.mark.usefixtures("_silent")


@pytest.fixture
def _silent() -> None:
    import torch_neuron_sim

    torch_neuron_sim.fallback_policy("silent")


def sampling_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=5 * LIMIT))
def test_a_tape_stays_small_and_keeps_begin_end_and_peak(memory: list[int]) -> None:
    samples = [Sample(at, (held, 0), at, 2 * at) for at, held in enumerate(memory)]
    tape = Tape(samples[0])
    for sample in samples[1:]:
        tape.take(sample)
    assert len(tape.samples) <= LIMIT
    assert tape.samples[0] == samples[0]
    last = tape.samples[-1]
    assert (last.at, last.native, last.fallback) == (samples[-1].at, samples[-1].native, samples[-1].fallback)
    assert tape.peaks == [max(memory), 0]
    assert max(sample.allocated[0] for sample in tape.samples) == max(memory)
    times = [sample.at for sample in tape.samples]
    assert times == sorted(set(times))


def test_the_interval_doubles_when_the_tape_is_full() -> None:
    tape = Tape(Sample(0, (1,), 0, 0))
    for at in range(1, LIMIT):
        tape.take(Sample(at, (1,), 0, 0))
    assert (len(tape.samples), tape.interval) == (LIMIT, SHORTEST_NS)
    tape.take(Sample(LIMIT, (1,), 0, 0))
    assert (len(tape.samples), tape.interval) == (LIMIT // 2 + 1, 2 * SHORTEST_NS)
    assert tape.due == LIMIT + 2 * SHORTEST_NS


def test_timeline_counts_from_the_begin_and_leaves_out_unused_devices() -> None:
    tape = Tape(Sample(5_000_000_000, (0, 7, 0), 100, 10))
    tape.take(Sample(6_500_000_000, (0, 0, 3), 130, 11))
    assert tape.timeline() == Timeline([0.0, 1.5], {1: [7, 0], 2: [0, 3]}, [0, 30], [0, 1])


def test_a_block_has_a_timeline_and_the_process_has_none() -> None:
    x = torch.ones(1000, device="neuron")
    with record() as report:
        kept = [x.exp() for _ in range(3)]
        x.floor()
    timeline = report.timeline
    assert timeline is not None
    assert (timeline.native_calls[0], timeline.native_calls[-1]) == (0, 3)
    assert (timeline.fallback_calls[0], timeline.fallback_calls[-1]) == (0, 1)
    held = timeline.allocated_bytes[0]
    assert held[-1] - held[0] >= 4000 * len(kept)
    assert timeline.times_s[0] == 0
    assert len({len(values) for values in (timeline.times_s, held, timeline.native_calls)}) == 1
    assert op_report().timeline is None


def test_the_thread_samples_while_a_block_runs_and_ends_with_it() -> None:
    for thread in sampling_threads():  # that of an earlier block may be about to end
        thread.join(10)
    x = torch.ones(1000, device="neuron")
    with record() as report:
        (thread,) = sampling_threads()
        tape = sampler._tapes[0]
        with record():
            assert sampling_threads() == [thread]  # one for all blocks
        while len(tape.samples) < 5:
            x.exp()
    thread.join(10)
    assert not thread.is_alive()
    assert sampling_threads() == []
    timeline = report.timeline
    assert timeline is not None
    assert len(timeline.times_s) >= 6
    assert timeline.native_calls == sorted(timeline.native_calls)
    assert timeline.native_calls[-2] > 0


def test_calls_count_on_when_op_tracking_is_cleared() -> None:
    x = torch.ones(3, device="neuron")
    with record() as report:
        x.exp(), x.floor()
        clear_op_tracking()
        x.exp()
        clear_op_tracking()
    assert report.timeline is not None
    assert report.timeline.native_calls[-1] == 2
    assert report.timeline.fallback_calls[-1] == 1


def test_a_fork_while_recording_leaves_the_child_without_a_thread(run_python: Callable[..., Any]) -> None:
    done = run_python(
        """
import os, sys, torch, threading
import torch_neuron_sim as t
with t.record() as report:
    pid = os.fork()
    if pid == 0:
        with t.record() as inner:
            torch.ones(3) + 1
        os._exit(0 if inner.rows == [] and inner.outcome.ok else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    torch.ones(3, device="neuron")
assert [row.op for row in report.rows] == ["aten::ones"]
sys.exit(status)
""",
        env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert done.returncode == 0, done.stderr


def test_a_process_that_ends_within_a_block_ends_well(run_python: Callable[..., Any]) -> None:
    done = run_python(
        """
import torch
import torch_neuron_sim as t
report = t.record().__enter__()
print(torch.ones(3, device="neuron").exp().sum().item() > 8)
""",
        env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@given(st.floats(1e-3, 1e15))
def test_ticks_are_few_and_round_and_reach_the_top(top: float) -> None:
    for axis in (plots.BYTES, plots.RATE, plots.SECONDS):
        ticks = axis.ticks(top)
        assert ticks[0] == 0
        assert ticks[-1] >= top > ticks[-2]
        assert len(ticks) <= plots.TICKS + 1
    assert {f"{tick:e}"[0] for tick in plots.RATE.ticks(top)[1:2]} <= {"1", "2", "5"}


def test_rates_are_those_of_each_interval() -> None:
    timeline = Timeline([0.0, 1.0, 3.0], {}, [0, 10, 30], [0, 0, 0])
    figure = plots.native(timeline, None)
    assert "native: at most 10" in figure
    assert "none" in plots.fallback(timeline, None)
