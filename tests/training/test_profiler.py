"""torch.profiler sees the operators of the device."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def work() -> None:
    layer = nn.Linear(4, 4).to("neuron")
    with record_function("my part"):
        layer(torch.ones(2, 4, device="neuron")).relu().sum().backward()


def test_forward_and_backward_are_in_the_profile() -> None:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as found:
        work()
    events = {event.key: event for event in found.key_averages()}
    assert {"my part", "aten::linear", "aten::relu", "aten::sum", "aten::copy_"} <= events.keys()
    assert any("Backward0" in key for key in events)
    assert events["aten::relu"].count == 1
    assert events["aten::relu"].cpu_time_total > 0
    shapes = [
        event.input_shapes for event in found.key_averages(group_by_input_shape=True) if event.key == "aten::relu"
    ]
    assert shapes[0][0] == [2, 4]


def test_stacks_memory_and_trace_file(tmp_path: Path) -> None:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, with_stack=True) as found:
        work()
    file = tmp_path / "trace.json"
    found.export_chrome_trace(str(file))
    names = {event.get("name") for event in json.loads(file.read_text())["traceEvents"]}
    assert {"aten::relu", "my part"} <= names
    assert "aten::relu" in found.key_averages().table(sort_by="cpu_time_total", row_limit=-1)


def test_schedule_records_the_active_steps_only() -> None:
    counts: list[int] = []
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: counts.append(sum(e.count for e in p.key_averages() if e.key == "aten::relu")),
    ) as found:
        for _ in range(5):
            work()
            found.step()
    assert counts == [2]


def test_legacy_profiler() -> None:
    with torch.autograd.profiler.profile() as found:
        work()
    assert any(event.name == "aten::relu" for event in found.function_events)
