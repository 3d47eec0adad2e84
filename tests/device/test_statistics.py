"""What the statistics count: the keys that torch.accelerator documents, and sums that add up."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from itertools import product

import pytest
import torch

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]
Stats = dict[str, int]

MIB = 2**20


def stats(device: int = 0) -> Stats:
    return dict(torch.accelerator.memory_stats(device))


def reserve(nbytes: int, device: int = 0) -> torch.Tensor:
    return torch.empty(nbytes, dtype=torch.uint8, device=f"neuron:{device}")


@pytest.fixture
def changes() -> Iterator[Callable[[str], int]]:
    """``changes(key)``: by how much a statistic of device 0 changed since the test began."""
    before = stats()

    def since(key: str) -> int:
        return stats()[key] - before[key]

    yield since


def documented_keys() -> set[str]:
    """The keys in the docstring, with its braces expanded. What it calls allocated, PyTorch calls allocation."""
    keys: set[str] = set()
    for text in re.findall(r'"([a-z_]+(?:\.[{}a-z_,.]+)?)"', torch.accelerator.memory_stats.__doc__ or ""):
        pattern = text.replace("allocated.{all", "allocation.{all")
        options = [part.strip("{}").split(",") for part in pattern.split(".")]
        keys.update(".".join(parts) for parts in product(*options))
    return keys


def test_every_documented_key_is_there() -> None:
    assert len(documented_keys()) == 8 * 3 * 4 + 5
    assert documented_keys() <= stats().keys()


def test_neuron_statistics_are_the_same_plus_the_nested_form() -> None:
    held = reserve(3 * MIB)
    flat, ours = stats(), torch.neuron.memory_stats()
    assert {key: ours[key] for key in flat} == flat
    for name in ("allocated_bytes", "reserved_bytes", "active_bytes"):
        assert ours[name] == {
            metric: flat[f"{name}.all.{metric}"] for metric in ("current", "peak", "allocated", "freed")
        }
    assert ours["num_ooms"] == flat["num_ooms"]
    assert ours["num_alloc_retries"] == flat["num_alloc_retries"]
    assert ours["allocation_requests"] - ours["num_tensor_frees"] == flat["allocation.all.current"]
    assert held.numel() <= ours["allocated_bytes"]["current"]


SUMS = """
import torch, torch_neuron_sim
held = [torch.ones(size, device="neuron") for size in (1, 100, 10**5, 10**6, 5 * 10**6) for _ in range(4)]
del held[1::2]
[each + 1 for each in held]
for step in range(2):
    stats = torch.accelerator.memory_stats()
    names = sorted({key.split(".")[0] for key in stats if ".all." in key})
    assert len(names) >= 8, names
    for name in (name for name in names if name.startswith("inactive") == INACTIVE):
        for pool in ("all", "small_pool", "large_pool"):
            current, peak, added, taken = (
                stats[f"{name}.{pool}.{metric}"] for metric in ("current", "peak", "allocated", "freed"))
            assert peak >= current >= 0, (name, pool, current, peak)
            assert added - taken == current, (name, pool, current, added, taken)
        for metric in ("current", "allocated", "freed"):
            small, large = (stats[f"{name}.{pool}.{metric}"] for pool in ("small_pool", "large_pool"))
            assert small + large == stats[f"{name}.all.{metric}"], (name, metric)
    torch.accelerator.empty_cache()
assert stats["num_device_alloc"] - stats["num_device_free"] == stats["segment.all.current"]
"""


@pytest.mark.parametrize("inactive", [False, True])
def test_sums_add_up(fresh_python: FreshPython, inactive: bool) -> None:
    """From the start of a process: current is what was added less what was taken, the peak at least that, and the pools
    make up the whole.
    """
    done = fresh_python(SUMS.replace("INACTIVE", str(inactive)))
    assert done.returncode == 0, done.stderr


def test_reserved_is_no_less_than_allocated_and_that_no_less_than_active() -> None:
    held = [reserve(nbytes) for nbytes in (1, 1000, 3 * MIB + 1, 20 * MIB)]
    for pool, metric in product(("all", "small_pool", "large_pool"), ("current", "peak")):
        found = stats()
        reserved, allocated, active, requested = (
            found[f"{name}_bytes.{pool}.{metric}"] for name in ("reserved", "allocated", "active", "requested")
        )
        assert reserved >= allocated >= active >= requested > 0
    assert len(held) == 4


def test_unused_parts_of_used_segments_are_inactive() -> None:
    torch.neuron.empty_cache()
    before = stats()
    held = reserve(2 * MIB)
    found = stats()
    unused = found["reserved_bytes.all.current"] - found["allocated_bytes.all.current"]
    assert found["inactive_split_bytes.all.current"] == unused > 0
    assert found["inactive_split.all.current"] > before["inactive_split.all.current"]
    assert held.numel() == 2 * MIB


@pytest.mark.parametrize("nbytes", [1, 256, 1000, MIB - 1, MIB, 10 * MIB, 16 * MIB, 40 * MIB])
def test_bytes_are_counted_as_requested_as_allocated_and_by_pool(changes: Callable[[str], int], nbytes: int) -> None:
    tensor = reserve(nbytes)
    pool, other = ("small_pool", "large_pool") if nbytes < MIB else ("large_pool", "small_pool")
    for each in ("all", pool):
        assert changes(f"requested_bytes.{each}.current") == nbytes
        assert nbytes <= changes(f"allocated_bytes.{each}.current") == changes(f"active_bytes.{each}.current")
        assert changes(f"allocation.{each}.current") == changes(f"active.{each}.current") == 1
        assert changes(f"reserved_bytes.{each}.current") >= 0
    assert changes(f"requested_bytes.{other}.current") == changes(f"allocated_bytes.{other}.current") == 0
    assert stats()["reserved_bytes.all.current"] >= stats()["allocated_bytes.all.current"]
    del tensor
    assert changes("requested_bytes.all.current") == changes("allocated_bytes.all.current") == 0
    assert changes("requested_bytes.all.freed") == nbytes


def test_devices_count_apart() -> None:
    before = [stats(device)["allocated_bytes.all.current"] for device in range(torch.neuron.device_count())]
    held = reserve(5 * MIB, 2)
    after = [stats(device)["allocated_bytes.all.current"] for device in range(torch.neuron.device_count())]
    assert [new - old for old, new in zip(before, after, strict=True)] == [
        5 * MIB if i == 2 else 0 for i in range(len(before))
    ]
    assert held.device.index == 2


def test_views_and_empty_tensors_hold_nothing(changes: Callable[[str], int]) -> None:
    base = reserve(1000)
    views = [base[3:], base.view(10, 100), base.detach(), base.expand(5, 1000), reserve(0)]
    assert changes("allocation.all.current") == 1
    assert changes("requested_bytes.all.current") == 1000
    del base
    assert changes("allocation.all.current") == 1
    del views
    assert changes("allocation.all.current") == 0


def test_peak_is_the_most_that_was_held_at_once() -> None:
    torch.accelerator.reset_peak_memory_stats()
    start = torch.accelerator.memory_allocated()
    assert torch.accelerator.max_memory_allocated() == start
    first = reserve(8 * MIB)
    second = reserve(4 * MIB)
    del first
    third = reserve(2 * MIB)
    assert torch.accelerator.memory_allocated() == start + 6 * MIB
    assert torch.accelerator.max_memory_allocated() == start + 12 * MIB
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == start + 6 * MIB
    assert torch.accelerator.max_memory_reserved() == torch.accelerator.memory_reserved()
    assert second.numel() + third.numel() == 6 * MIB


def test_reset_of_accumulated_statistics_zeroes_totals_and_keeps_what_is_held() -> None:
    held = reserve(8 * MIB)
    before = stats()
    torch.accelerator.reset_accumulated_memory_stats()
    after = stats()
    totals = [key for key in after if key.endswith((".allocated", ".freed"))] + ["num_ooms", "num_alloc_retries"]
    assert {after[key] for key in totals} == {0}
    assert {key: after[key] for key in after if key.endswith((".current", ".peak"))} == {
        key: before[key] for key in before if key.endswith((".current", ".peak"))
    }
    assert after["allocated_bytes.all.current"] >= held.numel()


def test_resets_act_on_one_device() -> None:
    for device in (0, 1):
        reserve(64 * MIB, device)
    peak, total = stats(1)["allocated_bytes.all.peak"], stats(1)["allocated_bytes.all.allocated"]
    torch.accelerator.reset_peak_memory_stats(0)
    torch.accelerator.reset_accumulated_memory_stats(0)
    assert stats(0)["allocated_bytes.all.allocated"] == 0
    assert (stats(1)["allocated_bytes.all.peak"], stats(1)["allocated_bytes.all.allocated"]) == (peak, total)


def test_reserved_memory_is_not_free_and_total_is_the_device_s() -> None:
    held = reserve(40 * MIB)
    free, total = torch.accelerator.get_memory_info()
    assert total == torch.neuron.get_device_properties().total_memory
    assert free == total - torch.accelerator.memory_reserved()
    assert torch.neuron.mem_get_info() == (free, total)
    del held
    assert torch.accelerator.get_memory_info()[0] == free
    torch.accelerator.empty_cache()
    assert torch.accelerator.get_memory_info()[0] >= free + 40 * MIB


def test_statistics_of_a_process_that_used_no_device_are_zero(fresh_python: FreshPython) -> None:
    code = """
import torch, torch_neuron_sim
assert not torch.neuron.is_initialized()
stats = torch.neuron.memory_stats()
assert all(value == 0 for value in stats.values() if isinstance(value, int)), stats
assert torch.neuron.memory_allocated() == torch.neuron.max_memory_reserved() == 0
torch.neuron.empty_cache()
torch.neuron.reset_peak_memory_stats()
torch.neuron.reset_accumulated_memory_stats()
assert not torch.neuron.is_initialized()
free, total = torch.accelerator.get_memory_info()
assert free == total > 0
"""
    done = fresh_python(code)
    assert done.returncode == 0, done.stderr
