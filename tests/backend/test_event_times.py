"""``elapsed_time`` of events: host time between two records."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
import torch

from torch_neuron_sim.streams import Event


def own() -> torch.Event:
    return Event(enable_timing=True)


def plain() -> torch.Event:
    return torch.Event("neuron", enable_timing=True)


@pytest.mark.parametrize("make_start", [own, plain])
def test_time_between_two_records(make_start: Callable[[], torch.Event]) -> None:
    start, end = make_start(), make_start()
    before = time.perf_counter()
    start.record()
    inside = time.perf_counter()
    torch.ones(300, 300, device="neuron").matmul(torch.ones(300, 300, device="neuron"))
    inside = time.perf_counter() - inside
    end.record()
    outside = time.perf_counter() - before
    assert inside <= start.elapsed_time(end) / 1e3 <= outside
    assert end.elapsed_time(start) == pytest.approx(-start.elapsed_time(end), abs=1e-6)


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
        with pytest.raises(ValueError, match=r"enable_timing|recorded"):
            start.elapsed_time(end)


def test_events_of_two_devices_are_refused() -> None:
    start, end = own(), own()
    start.record()
    with torch.accelerator.device_index(1):
        end.record()
    with pytest.raises(RuntimeError, match=r"neuron:0 and neuron:1|neuron:1 and neuron:0"):
        start.elapsed_time(end)
