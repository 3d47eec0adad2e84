"""Simulated clocks: the host issues, streams run, and nothing waits for real."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_neuron_sim import _C


@pytest.fixture(autouse=True)
def _clocks_of_the_test() -> Iterator[None]:
    costs = _C.clock_host_costs()
    _C.clock_set_host_costs(0, 0, False)
    _C.clock_reset()
    yield
    _C.clock_set_host_costs(*costs)
    _C.clock_reset()


def test_work_on_one_stream_follows_what_was_before() -> None:
    assert _C.clock_submit(0, 0, 100) == (0, 100)
    assert _C.clock_submit(0, 0, 50) == (100, 150)
    assert _C.clock_stream_end(0, 0) == 150
    assert _C.clock_host_now() == 0


def test_work_starts_when_the_host_has_issued_it() -> None:
    _C.clock_set_host_costs(60, 0, False)
    # Short work leaves the stream idle in between: the host binds. Long work queues: the device does.
    assert [_C.clock_submit(0, 0, 10) for _ in range(3)] == [(60, 70), (120, 130), (180, 190)]
    assert [_C.clock_submit(0, 0, 100) for _ in range(3)] == [(240, 340), (340, 440), (440, 540)]
    assert _C.clock_host_now() == 360


def test_streams_overlap_and_so_do_devices() -> None:
    assert _C.clock_submit(0, 0, 100) == (0, 100)
    assert _C.clock_submit(0, 901, 100) == (0, 100)
    assert _C.clock_submit(1, 0, 100) == (0, 100)


def test_an_event_orders_two_streams() -> None:
    _C.clock_submit(0, 0, 100)
    event = _C.clock_record(0, 0)
    assert event == 100
    _C.clock_wait(0, 902, event)
    assert _C.clock_submit(0, 902, 10) == (100, 110)
    # Waiting for what is past changes nothing.
    _C.clock_wait(0, 902, event)
    assert _C.clock_stream_end(0, 902) == 110


def test_elapsed_time_is_the_time_of_the_work_between() -> None:
    start = _C.clock_record(0, 0)
    for cost in (100, 200, 300):
        _C.clock_submit(0, 0, cost)
    assert _C.clock_record(0, 0) - start == 600


def test_an_event_on_an_idle_stream_shows_the_present() -> None:
    _C.clock_submit(0, 0, 100)
    _C.clock_advance_host(1000)
    assert _C.clock_record(0, 0) == 1000


def test_synchronising_advances_the_host() -> None:
    _C.clock_submit(0, 0, 100)
    _C.clock_submit(0, 903, 300)
    _C.clock_submit(1, 904, 900)
    _C.clock_synchronise_stream(0, 0)
    assert _C.clock_host_now() == 100
    _C.clock_synchronise_device(0)
    assert _C.clock_host_now() == 300
    _C.clock_synchronise_until(250)
    assert _C.clock_host_now() == 300
    assert _C.clock_submit(0, 0, 10) == (300, 310)


def test_blocking_host_waits_for_every_op() -> None:
    _C.clock_set_host_costs(60, 437, True)
    assert _C.clock_submit(0, 0, 100) == (60, 160)
    assert _C.clock_host_now() == 160 + 437
    assert _C.clock_submit(0, 0, 100) == (657, 757)
    assert _C.clock_host_now() == 757 + 437


def test_transfer_waits_if_told() -> None:
    _C.clock_submit(0, 0, 100)
    assert _C.clock_transfer(0, 0, 40, False) == (100, 140)
    assert _C.clock_host_now() == 0
    assert _C.clock_transfer(0, 0, 40, True) == (140, 180)
    assert _C.clock_host_now() == 180


@pytest.mark.parametrize(("device", "stream"), [(-1, 0), (1000, 0), (0, -1)])
def test_there_is_no_such_stream(device: int, stream: int) -> None:
    with pytest.raises(ValueError, match=f"there is no stream {stream} of neuron:{device}"):
        _C.clock_submit(device, stream, 1)


class Step(NamedTuple):
    action: str
    stream: int
    amount: int


actions = st.sampled_from(["submit", "transfer", "wait", "synchronise", "host"])
steps = st.lists(st.builds(Step, actions, st.integers(0, 3), st.integers(0, 1000)), max_size=40)


@given(steps, st.integers(0, 100), st.booleans())
def test_clocks_agree_with_a_plain_model(sequence: list[Step], issue: int, blocking: bool) -> None:
    """Against a simulation in a few lines of Python; and no clock ever goes back."""
    _C.clock_set_host_costs(issue, 7, blocking)
    _C.clock_reset()
    host, ends = 0, [0] * 4
    names = [0, 905, 906, 907]
    for action, stream, amount in sequence:
        before = host, list(ends)
        if action in ("submit", "transfer"):
            host += issue
            start = max(host, ends[stream])
            ends[stream] = start + amount
            if action == "submit":
                assert _C.clock_submit(0, names[stream], amount) == (start, ends[stream])
                host = max(host, ends[stream]) + 7 if blocking else host
            else:
                assert _C.clock_transfer(0, names[stream], amount, True) == (start, ends[stream])
                host = max(host, ends[stream])
        elif action == "wait":
            other = amount % 4
            event = max(host, ends[other])
            assert _C.clock_record(0, names[other]) == event
            _C.clock_wait(0, names[stream], event)
            ends[stream] = max(ends[stream], event)
        elif action == "synchronise":
            _C.clock_synchronise_stream(0, names[stream])
            host = max(host, ends[stream])
        else:
            _C.clock_advance_host(amount)
            host += amount
        assert _C.clock_host_now() == host >= before[0]
        assert [_C.clock_stream_end(0, name) for name in names] == ends
        assert all(new >= old for new, old in zip(ends, before[1], strict=True))
    _C.clock_synchronise_device(0)
    assert _C.clock_host_now() == max(host, *ends)


def test_threads_lose_nothing() -> None:
    _C.clock_set_host_costs(2, 0, False)
    seen: list[tuple[int, int]] = []

    def work() -> None:
        seen.extend([_C.clock_submit(0, 0, 3) for _ in range(2000)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _C.clock_host_now() == 2 * 8000
    ordered = sorted(seen)
    # Intervals of one stream never overlap.
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(ordered))
    assert len(set(seen)) == 8000


def test_many_streams_cost_nothing_until_they_are_used() -> None:
    far = 3 * 2**20 + 5  # a million streams later the places are used again
    assert _C.clock_submit(0, far, 10) == (0, 10)
    assert _C.clock_stream_end(0, far) == 10
    _C.clock_synchronise_device(0)
    assert _C.clock_host_now() == 10
