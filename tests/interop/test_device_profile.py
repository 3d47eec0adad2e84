"""torch.profiler asked for the device: rows of neuron operators carry device time, in tables and in the trace file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


@pytest.fixture
def work() -> Callable[[], None]:
    layer = nn.Linear(64, 64).to("neuron")
    x = torch.ones(32, 64, device="neuron")

    def run() -> None:
        with record_function("my part"):
            layer(x).relu().sum().backward()

    return run


def rows(found: Any) -> dict[str, Any]:
    """The rows by name. One operator has two when a kernel on the host calls it as well: that of the device counts."""
    return {row.key: row for row in sorted(found.key_averages(), key=lambda row: row.device_time_total)}


def test_operators_of_the_device_have_device_time(work: Callable[[], None]) -> None:
    with profile(activities=BOTH) as found:
        work()
    by_name = rows(found)
    for name in ("aten::linear", "aten::relu", "aten::sum", "aten::linear_backward"):
        assert by_name[name].device_time_total > 0, name
        assert by_name[name].cpu_time_total > 0, name
        assert by_name[name].count == 1
    assert by_name["my part"].device_time_total >= by_name["aten::linear"].device_time_total
    table = found.key_averages().table(sort_by="device_time_total", row_limit=-1)
    assert "aten::linear" in table


def test_operators_on_the_host_have_none() -> None:
    with profile(activities=BOTH) as found:
        torch.ones(8, 8) @ torch.ones(8, 8)
    assert rows(found)["aten::mm"].device_time_total == 0


def test_trace_file_loads_and_names_the_operators(work: Callable[[], None], tmp_path: Path) -> None:
    with profile(activities=BOTH, record_shapes=True, with_stack=True) as found:
        work()
    file = tmp_path / "trace.json"
    found.export_chrome_trace(str(file))
    events = [event for event in json.loads(file.read_text())["traceEvents"] if event.get("ph") == "X"]
    assert {"aten::relu", "aten::linear", "my part"} <= {event["name"] for event in events}
    assert all(event["dur"] >= 0 for event in events)


def test_schedule_with_the_device(work: Callable[[], None]) -> None:
    seen: list[tuple[int, bool]] = []

    def ready(found: Any) -> None:
        row = rows(found)["aten::relu"]
        seen.append((row.count, row.device_time_total > 0))

    with profile(activities=BOTH, schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=ready) as found:
        for _ in range(4):
            work()
            found.step()
    assert seen == [(2, True)]


def test_legacy_profiler_with_the_device(work: Callable[[], None]) -> None:
    with torch.autograd.profiler.profile(use_device="neuron") as found:
        work()
    relu = next(row for row in found.key_averages() if row.key == "aten::relu")
    assert relu.device_time_total > 0
    assert relu.cpu_time_total > 0
