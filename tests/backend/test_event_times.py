"""``elapsed_time`` of events: simulated time of the device, or host time if that is switched off."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from torch_neuron_sim import _C
from torch_neuron_sim.streams import Event, Stream, current_stream


def own() -> torch.Event:
    return Event(enable_timing=True)


def plain() -> torch.Event:
    return torch.Event("neuron", enable_timing=True)


every_class = pytest.mark.parametrize("make", [own, plain])

HOST_TIME = """
import time, torch, torch_neuron_sim
start, end = (torch.Event("neuron", enable_timing=True) for _ in range(2))
before = time.perf_counter()
start.record()
inside = time.perf_counter()
torch.ones(300, 300, device="neuron").matmul(torch.ones(300, 300, device="neuron"))
inside = time.perf_counter() - inside
end.record()
outside = time.perf_counter() - before
assert inside <= start.elapsed_time(end) / 1e3 <= outside, start.elapsed_time(end)
"""


@pytest.fixture
def _host_costs_nothing() -> Iterator[None]:
    """And nothing that other tests issued is still going on."""
    costs = _C.clock_host_costs()
    _C.clock_set_host_costs(0, 0, False)
    _C.clock_synchronise_device(0)
    yield
    _C.clock_set_host_costs(*costs)


@every_class
def test_simulated_time_of_the_work_between(make: Callable[[], torch.Event], _host_costs_nothing: None) -> None:
    start, end = make(), make()
    start.record()
    _C.clock_submit(0, 0, 2_500_000)
    end.record()
    assert start.elapsed_time(end) == pytest.approx(2.5)
    assert end.elapsed_time(start) == pytest.approx(-2.5)


def test_work_on_another_stream_is_not_between(_host_costs_nothing: None) -> None:
    start, end, there = own(), own(), own()
    other = Stream()
    start.record()
    _C.clock_submit(0, other.stream_id, 2_500_000)
    there.record(other)
    end.record()
    assert start.elapsed_time(end) == pytest.approx(0, abs=1e-9)
    assert start.elapsed_time(there) == pytest.approx(2.5)


@pytest.mark.parametrize("how", ["wait_event", "wait_stream"])
def test_waiting_puts_work_after_the_other_streams(how: str, _host_costs_nothing: None) -> None:
    other, start, end = Stream(), own(), own()
    start.record()
    _C.clock_submit(0, other.stream_id, 1_000_000)
    if how == "wait_event":
        current_stream().wait_event(other.record_event())
    else:
        current_stream().wait_stream(other)
    _C.clock_submit(0, 0, 500_000)
    end.record()
    assert start.elapsed_time(end) == pytest.approx(1.5)


@pytest.mark.parametrize("how", ["event", "stream", "device", "accelerator"])
def test_synchronising_brings_the_host_to_the_end(how: str, _host_costs_nothing: None) -> None:
    stream = Stream()
    before = _C.clock_host_now()
    _C.clock_submit(0, stream.stream_id, 1_000_000)
    event = stream.record_event()
    {
        "event": event.synchronize,
        "stream": stream.synchronize,
        "device": lambda: torch.get_device_module("neuron").synchronize(0),
        "accelerator": lambda: torch.accelerator.synchronize(0),
    }[how]()
    assert _C.clock_host_now() == before + 1_000_000


def test_host_time_if_the_time_model_is_off(fresh_python: Callable[..., Any]) -> None:
    done = fresh_python(HOST_TIME, {"TORCH_NEURON_SIM_TIME": "0"})
    assert done.returncode == 0, done.stderr


def test_start_of_our_class_and_end_of_torchs() -> None:
    start, end = own(), plain()
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0


def test_events_without_timing_or_record_are_refused() -> None:
    recorded, unrecorded, untimed = own(), own(), Event()
    recorded.record()
    untimed.record()
    for start, end in itertools.permutations([recorded, unrecorded, untimed], 2):
        with pytest.raises(RuntimeError, match=r"enable_timing|recorded"):
            start.elapsed_time(end)


def test_events_of_two_devices_are_refused() -> None:
    start, end = own(), own()
    start.record()
    with torch.accelerator.device_index(1):
        end.record()
    with pytest.raises(RuntimeError, match=r"neuron:0 and neuron:1|neuron:1 and neuron:0"):
        start.elapsed_time(end)
