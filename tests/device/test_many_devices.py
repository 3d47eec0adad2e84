"""No structure grows with the address space: a large instance costs what a small one costs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]

START = """
import json, time
begin = time.perf_counter()
import torch, torch_neuron_sim
tensor = torch.ones(2, device="neuron")
seconds = time.perf_counter() - begin
maps = open("/proc/self/maps").readlines()
resident = next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]
print(json.dumps([seconds, len(maps), int(resident) * 1024]))
"""


def start(fresh_python: FreshPython, devices: int, gib: int) -> tuple[float, int, int]:
    """Seconds to import and make a tensor, mappings, resident bytes: the least of three runs."""
    env = {"TORCH_NEURON_SIM_DEVICES": str(devices), "TORCH_NEURON_SIM_HBM_GIB": str(gib)}
    runs = [fresh_python(START, env) for _ in range(3)]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[0].stderr
    seconds, maps, resident = (min(column) for column in zip(*(json.loads(run.stdout) for run in runs), strict=True))
    return seconds, maps, resident


def test_128_devices_of_128_gib_start_as_fast_as_one_of_one(fresh_python: FreshPython) -> None:
    seconds, maps, resident = start(fresh_python, 1, 1)
    many_seconds, many_maps, many_resident = start(fresh_python, 128, 128)
    assert many_maps <= maps + 4
    assert many_resident <= resident + (4 << 20)
    assert many_seconds <= 2 * seconds + 0.1


def test_every_one_of_64_devices_computes(fresh_python: FreshPython) -> None:
    code = """
import torch, torch_neuron_sim
tensors = [torch.full((3,), index, device=f"neuron:{index}") for index in range(64)]
assert len({tensor.data_ptr() for tensor in tensors}) == 64
assert [int((tensor + 1).sum()) for tensor in tensors] == [3 * index + 3 for index in range(64)]
"""
    done = fresh_python(code, {"TORCH_NEURON_SIM_INSTANCE": "trn2.48xlarge"})
    assert done.returncode == 0, done.stderr
