"""A long training keeps neither device nor host memory."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

# Its own process: what other tests leave to the garbage collector would show in the resident size.
PROGRAM = """
import json, os, torch, torch_neuron_sim
from torch import nn
torch_neuron_sim.fallback_policy("silent")
torch.set_num_threads(1)  # threads that wait for each other would be most of the time

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.1), nn.Flatten(), nn.Linear(144, 3)
model = nn.Sequential(*layers)
model.to("neuron")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
seen = {}
for step in range(1, 1001):
    x, y = torch.randn(4, 1, 8, 8).to("neuron"), torch.randint(3, (4,), device="neuron")
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    loss.item(), loss.argmax().item()  # one operator that falls back, with a call site
    if step in (10, 200, 1000):
        stats = torch.accelerator.memory_stats()
        seen[step] = {
            "allocated": stats["allocated_bytes.all.current"], "tensors": stats["allocation.all.current"],
            "peak": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.current"],
            "scratch": torch.neuron.scratch_stats()["current"], "resident": resident(),
        }
print(json.dumps(seen))
"""


def test_memory_is_flat_over_a_thousand_steps(run_python: Callable[..., Any]) -> None:
    done = run_python(PROGRAM)
    assert done.returncode == 0, done.stderr
    early, warm, late = json.loads(done.stdout).values()
    for name in ("allocated", "tensors", "peak", "reserved"):
        assert late[name] == early[name] > 0, name
    assert late["scratch"] == early["scratch"] == 0
    # From step 200 on: the first steps fill the host allocator's arenas.
    assert late["resident"] - warm["resident"] < 3 * 2**20


def test_everything_is_free_when_the_model_is_gone(allocated: Callable[..., int]) -> None:
    before = allocated()
    model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64)).to("neuron")
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 64).to("neuron")).sum().backward()
    optimizer.step()
    assert allocated() > before + 4 * 64 * 64 * 4
    del model, optimizer
    assert allocated() == before


def test_failed_step_leaves_no_memory_behind(allocated: Callable[..., int]) -> None:
    model = nn.Linear(8, 8).to("neuron")
    x = torch.ones(2, 8, device="neuron")
    before = allocated()
    for _ in range(3):
        with pytest.raises(IndexError, match="out of bounds"):
            nn.functional.cross_entropy(model(x), torch.tensor([0, 99], device="neuron"))
    gc.collect()  # the errors hold the frames of torch
    assert allocated() == before
