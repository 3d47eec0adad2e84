"""The host backs only what is touched, takes back what is freed, and says so when it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]

MIB = 2**20
GIB = 2**30


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_untouched_memory_is_free() -> None:
    before = resident()
    tensor = torch.empty(20 * GIB, dtype=torch.uint8, device="neuron")
    tensor[0], tensor[-1], tensor[10 * GIB] = 1, 2, 3
    assert (tensor[0].item(), tensor[-1].item(), tensor[10 * GIB].item()) == (1, 2, 3)
    assert torch.neuron.memory_allocated() >= 20 * GIB
    # A touched byte costs a page, which may be a huge one.
    assert resident() - before < 32 * MIB


def test_empty_cache_gives_pages_back_to_the_host() -> None:
    before = resident()
    tensor = torch.ones(256 * MIB, dtype=torch.uint8, device="neuron")
    assert resident() - before > 250 * MIB
    del tensor
    assert torch.neuron.memory_reserved() >= 256 * MIB
    torch.neuron.empty_cache()
    assert resident() - before < 16 * MIB
    assert torch.neuron.memory_reserved() < 256 * MIB


def test_a_cached_block_is_reused() -> None:
    tensor = torch.ones(64 * MIB, dtype=torch.uint8, device="neuron")
    address, before = tensor.data_ptr(), resident()
    del tensor
    again = torch.ones(64 * MIB, dtype=torch.uint8, device="neuron")
    assert again.data_ptr() == address
    assert resident() - before < 8 * MIB


def test_empty_cache_keeps_what_is_in_use() -> None:
    tensors = [torch.full((3 * MIB,), value, dtype=torch.uint8, device="neuron") for value in range(8)]
    del tensors[::2]
    torch.accelerator.empty_cache()
    for tensor, value in zip(tensors, (1, 3, 5, 7), strict=True):
        assert (tensor.cpu() == value).all()


# Writers of `nbytes` bytes. `wide` looks as large, and is one byte.
WRITES = {
    "zero_": "empty().zero_()",
    "fill_": "empty().fill_(7)",
    "random_": "empty().random_(5)",
    "copy_": "empty().copy_(wide)",
    "zeros": "torch.zeros(nbytes, dtype=torch.uint8, device='neuron')",
    "full": "torch.full((nbytes,), 7, dtype=torch.uint8, device='neuron')",
    "to": "torch.zeros(1, dtype=torch.uint8).expand(nbytes).to('neuron')",
    "contiguous": "wide.contiguous()",
    "add": "wide + 1",
    "out": "torch.neg(wide, out=empty())",
    "cat": "torch.cat([wide[: nbytes // 2]] * 2)",
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_the_host_cannot_back_is_an_error(fresh_python: FreshPython, write: str) -> None:
    """Twice the memory that the host has left. The alarm ends a process that starts to write after all."""
    available = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    nbytes = 2 * int(available.split()[1]) * 1024
    if nbytes > 1000 * GIB:
        pytest.skip("this host could back more than the largest memory that can be simulated")
    code = f"""
import signal, torch, torch_neuron_sim
nbytes = {nbytes}
torch_neuron_sim.fallback_policy("silent")
def empty():
    return torch.empty(nbytes, dtype=torch.uint8, device="neuron")
wide = torch.zeros(1, dtype=torch.uint8, device="neuron").expand(nbytes)
signal.setitimer(signal.ITIMER_REAL, 1)
try:
    {WRITES[write]}
except RuntimeError as error:
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert "host cannot back" in str(error) and "bytes are available" in str(error), error
else:
    raise AssertionError("written")
assert torch.ones(3, device="neuron").sum() == 3
"""
    done = fresh_python(code, {"TORCH_NEURON_SIM_HBM_GIB": "1024", "TORCH_NEURON_SIM_DEVICES": "1"})
    assert done.returncode != -signal.SIGALRM, "it began to write"
    assert done.returncode == 0, done.stderr


def test_a_limit_on_data_is_an_error_that_names_it(fresh_python: FreshPython) -> None:
    code = """
import resource, torch, torch_neuron_sim
kept = torch.ones(2, device="neuron")
status = dict(line.split(":") for line in open("/proc/self/status") if ":" in line)
limit = int(status["VmData"].split()[0]) * 1024 + (64 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
try:
    torch.empty(1 << 30, dtype=torch.uint8, device="neuron")
    raise AssertionError("allocated")
except torch.OutOfMemoryError:
    raise AssertionError("the host is short, not the device")
except RuntimeError as error:
    assert "host cannot back" in str(error) and "ulimit -d" in str(error), error
assert torch.neuron.memory_allocated() == 256
assert (kept + 1).tolist() == [2, 2]
resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert torch.zeros(1 << 20, device="neuron").sum() == 0
"""
    done = fresh_python(code)
    assert done.returncode == 0, done.stderr


def test_a_limit_on_address_space_is_an_error_that_names_it(fresh_python: FreshPython) -> None:
    code = """
import resource, torch, torch_neuron_sim
resource.setrlimit(resource.RLIMIT_AS, (32 << 30, resource.RLIM_INFINITY))
try:
    torch.empty(2, device="neuron")
    raise AssertionError("allocated")
except RuntimeError as error:
    assert "ulimit -v" in str(error) and "TORCH_NEURON_SIM_HBM_GIB" in str(error), error
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert torch.ones(2, device="neuron").sum() == 2
"""
    done = fresh_python(code)
    assert done.returncode == 0, done.stderr
