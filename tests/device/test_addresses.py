"""Device addresses mean nothing to the host: whoever dereferences one faults, as with a real device."""

from __future__ import annotations

import itertools
import signal
import subprocess
from collections.abc import Callable

import pytest
import torch

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("access", ["ctypes.string_at(address, 1)", "ctypes.memset(address, 0, 1)"])
def test_a_host_that_dereferences_a_device_pointer_faults(fresh_python: FreshPython, access: str) -> None:
    code = f"""
import ctypes, torch, torch_neuron_sim
tensor = torch.ones(1000, device="neuron")
address = tensor.data_ptr()
assert tensor.sum() == 1000
print("reached", flush=True)
{access}
"""
    done = fresh_python(code)
    assert done.stdout == "reached\n"
    assert done.returncode == -signal.SIGSEGV, done.stderr


def test_addresses_of_live_tensors_do_not_overlap() -> None:
    sizes = (1, 255, 256, 257, 5000, 2**20 - 1, 2**20, 3 * 2**20)
    tensors = [
        torch.empty(size, dtype=torch.uint8, device=f"neuron:{device}")
        for device in range(torch.neuron.device_count())
        for size in sizes
    ]
    ranges = sorted((tensor.data_ptr(), tensor.data_ptr() + tensor.numel()) for tensor in tensors)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ranges))


def test_blocks_are_aligned_for_the_widest_types() -> None:
    assert all(
        torch.empty(size, dtype=torch.uint8, device="neuron").data_ptr() % 256 == 0 for size in range(1, 2000, 7)
    )


def test_views_point_into_their_storage() -> None:
    base = torch.arange(24, dtype=torch.float32, device="neuron").reshape(4, 6)
    assert base[1:, 2:].data_ptr() == base.data_ptr() + 4 * 8
    assert base[1:, 2:].untyped_storage().data_ptr() == base.untyped_storage().data_ptr() == base.data_ptr()


def test_a_tensor_without_elements_has_no_address() -> None:
    assert torch.empty(0, device="neuron").data_ptr() == torch.empty(0).data_ptr() == 0
