"""The HBM is finite: what fits, what does not, and what the error says. Untouched memory makes that cheap to try."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Callable

import pytest
import torch

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]

GIB = 2**30
TOTAL = torch.neuron.get_device_properties(0).total_memory


def reserve(nbytes: int, device: str = "neuron:0") -> torch.Tensor:
    return torch.empty(nbytes, dtype=torch.uint8, device=device)


def stat(name: str, device: int = 0) -> int:
    return int(torch.accelerator.memory_stats(device)[name])


def test_error_names_request_device_stack_and_bytes_by_category() -> None:
    held = reserve(10 * GIB)
    cached = reserve(3 * GIB)
    del cached
    with pytest.raises(torch.OutOfMemoryError) as caught:
        reserve(TOTAL - 10 * GIB + 256)
    text = str(caught.value)
    assert f"({TOTAL - 10 * GIB + 256} bytes)" in text
    for part in (
        "neuron:0",
        "HBM stack 0",
        f"{TOTAL / GIB:.2f} GiB",
        f"{TOTAL / GIB - 10:.2f} GiB",
        "10.00 GiB are alloc",
    ):
        assert part in text
    assert "0 bytes are kernel scratch" in text
    # The cache was given back before the request failed, up to a segment that a small tensor keeps.
    assert "0 bytes are cached" in text or "2.00 MiB are cached" in text
    assert "torch.neuron.empty_cache()" in text
    assert held.numel() == 10 * GIB


def test_cache_that_a_request_could_never_fit_into_is_kept_and_counted() -> None:
    held = reserve(3 * GIB)
    del held
    with pytest.raises(torch.OutOfMemoryError, match=r"3\.00 GiB are cached"):
        reserve(2 * TOTAL)


def test_error_is_a_runtime_error_of_the_type_that_programs_catch() -> None:
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    assert torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    with pytest.raises(torch.cuda.OutOfMemoryError):
        reserve(2 * TOTAL)


def test_last_byte_fits_and_one_more_does_not() -> None:
    gc.collect()
    torch.neuron.empty_cache()
    free = torch.accelerator.get_memory_info(3)[0]
    whole = reserve(free, "neuron:3")
    assert torch.accelerator.get_memory_info(3) == (0, TOTAL)
    with pytest.raises(torch.OutOfMemoryError, match="0 bytes are cached"):
        reserve(1, "neuron:3")
    del whole
    reserve(free, "neuron:3")


def test_a_failed_request_leaves_everything_as_it_was() -> None:
    held = reserve(15 * GIB)
    allocated, ooms = torch.neuron.memory_allocated(), stat("num_ooms")
    for _ in range(3):
        with pytest.raises(torch.OutOfMemoryError):
            reserve(10 * GIB)
    assert torch.neuron.memory_allocated() == allocated
    assert stat("num_ooms") == ooms + 3
    del held
    reserve(TOTAL - GIB)


@pytest.mark.parametrize("nbytes", [2**50, 2**62, 2**63 - 1])
def test_absurd_sizes_are_out_of_memory_too(nbytes: int) -> None:
    with pytest.raises(torch.OutOfMemoryError, match=str(nbytes)):
        reserve(nbytes)


def test_absurd_shapes_are_the_error_that_cpu_raises() -> None:
    for device in ("cpu", "neuron"):
        with pytest.raises(RuntimeError, match="overflowed"):
            torch.empty(2**62, dtype=torch.float64, device=device)
        with pytest.raises(RuntimeError, match="negative dimension"):
            torch.empty(-1, device=device)


def test_cached_memory_is_given_back_before_a_request_fails() -> None:
    retries = stat("num_alloc_retries")
    held = reserve(20 * GIB)
    del held
    again = reserve(22 * GIB)
    assert again.numel() == 22 * GIB
    assert stat("num_alloc_retries") == retries + 1


def test_the_small_pool_gives_its_cache_to_a_large_request() -> None:
    before = torch.accelerator.get_memory_info(2)[0]
    blocks = [reserve(2**19, "neuron:2") for _ in range(200)]
    del blocks
    assert torch.accelerator.get_memory_info(2)[0] < before
    assert reserve(before, "neuron:2").numel() == before


def test_result_that_does_not_fit_is_out_of_memory_and_leaves_no_trace() -> None:
    held = reserve(TOTAL - 8 * GIB)
    allocated, scratch = torch.neuron.memory_allocated(), torch.neuron.scratch_stats()["current"]
    for call in (held.clone, lambda: held + 1, lambda: torch.cat([held, held]), lambda: held.to(torch.float32)):
        with pytest.raises(torch.OutOfMemoryError):
            call()
    assert torch.neuron.memory_allocated() == allocated
    assert torch.neuron.scratch_stats()["current"] == scratch


def test_copy_of_a_host_tensor_that_does_not_fit_is_out_of_memory() -> None:
    wide = torch.zeros(1, dtype=torch.uint8).expand(2 * TOTAL)
    with pytest.raises(torch.OutOfMemoryError, match=f"{2 * TOTAL} bytes"):
        wide.to("neuron")


def test_resize_beyond_capacity_leaves_the_tensor() -> None:
    tensor = torch.arange(5, device="neuron")
    with pytest.raises(torch.OutOfMemoryError):
        tensor.resize_(TOTAL)
    with pytest.raises(torch.OutOfMemoryError):
        tensor.untyped_storage().resize_(2 * TOTAL)
    assert tensor.tolist() == [0, 1, 2, 3, 4]


def test_devices_of_core_pairs_have_a_stack_each() -> None:
    whole = reserve(TOTAL - GIB, "neuron:0")
    other = reserve(TOTAL - GIB, "neuron:1")
    assert whole.numel() == other.numel()
    with pytest.raises(torch.OutOfMemoryError, match=r"neuron:1.*HBM stack 1 \(used by neuron:1\)"):
        reserve(2 * GIB, "neuron:1")


def test_small_blocks_fill_a_small_memory_nearly_whole(fresh_python: FreshPython) -> None:
    code = """
import torch, torch_neuron_sim
total = int(0.05 * 2**30)
assert torch.accelerator.get_memory_info() == (total, total)
held = []
try:
    while True:
        held.append(torch.empty(1000, device="neuron"))
except torch.OutOfMemoryError as error:
    assert "51.20 MiB" in str(error), error
assert sum(4 * each.numel() for each in held) > 0.9 * total
assert torch.neuron.memory_allocated() <= total
held.pop()
held.append(torch.empty(1000, device="neuron"))
del held
assert torch.empty(total // 256 * 256, dtype=torch.uint8, device="neuron").numel()
"""
    done = fresh_python(code, {"TORCH_NEURON_SIM_HBM_GIB": "0.05"})
    assert done.returncode == 0, done.stderr


def test_single_core_devices_share_their_stack(fresh_python: FreshPython) -> None:
    code = """
import torch, torch_neuron_sim
GIB = 2**30
def reserve(gib, device):
    return torch.empty(gib * GIB, dtype=torch.uint8, device=f"neuron:{device}")
first = reserve(10, 0)
assert torch.accelerator.get_memory_info(0) == torch.accelerator.get_memory_info(1) == (14 * GIB, 24 * GIB)
assert torch.neuron.memory_allocated(1) == 0
second = reserve(12, 1)
try:
    reserve(3, 0)
    raise AssertionError("fits")
except torch.OutOfMemoryError as error:
    assert "on neuron:0" in str(error) and "(used by neuron:0 and neuron:1)" in str(error), error
    assert "22.00 GiB are allocated" in str(error), error
reserve(24, 2)  # the next stack
del second  # stays in the cache of neuron:1, until neuron:0 needs it
assert torch.neuron.memory_reserved(1) == 12 * GIB
third = reserve(14, 0)
assert torch.neuron.memory_reserved(1) == 0
assert torch.accelerator.get_memory_info(1)[0] == 0
"""
    done = fresh_python(code, {"NEURON_LOGICAL_NC_CONFIG": "1"})
    assert done.returncode == 0, done.stderr


def test_last_of_an_odd_number_of_single_core_devices_has_a_stack_to_itself(fresh_python: FreshPython) -> None:
    code = """
import torch, torch_neuron_sim
try:
    torch.empty(25 * 2**30, dtype=torch.uint8, device="neuron:2")
except torch.OutOfMemoryError as error:
    assert "HBM stack 1 (used by neuron:2)" in str(error), error
"""
    done = fresh_python(code, {"NEURON_LOGICAL_NC_CONFIG": "1", "TORCH_NEURON_SIM_DEVICES": "3"})
    assert done.returncode == 0, done.stderr
