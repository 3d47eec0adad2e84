"""Pinned host memory: a tensor is pinned if it was asked to be, and not otherwise."""

from __future__ import annotations

import gc

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset


def test_pin_memory_copies_once() -> None:
    host = torch.arange(6.0).reshape(2, 3)
    pinned = host.pin_memory()
    assert not host.is_pinned()
    assert pinned.is_pinned()
    assert pinned.is_cpu
    assert pinned.data_ptr() != host.data_ptr()
    assert torch.equal(pinned, host)
    assert pinned.pin_memory() is pinned


@pytest.mark.parametrize("make", [
    lambda: torch.empty(3, pin_memory=True),
    lambda: torch.zeros(3, pin_memory=True),
    lambda: torch.randn(3, pin_memory=True),
    lambda: torch.tensor([1.0], pin_memory=True),
    lambda: torch.empty_strided((2, 3), (1, 2), pin_memory=True),
    lambda: torch.ones(3).new_empty(3, pin_memory=True),
    lambda: torch.ones(3, device="neuron").to("cpu").pin_memory(),
    lambda: torch.ones(8).pin_memory()[3:6],
    lambda: torch.ones(8).pin_memory().view(2, 4).t(),
    lambda: torch.ones(3).pin_memory().detach(),
])  # fmt: skip
def test_pinned(make: object) -> None:
    assert make().is_pinned()  # type: ignore[operator]


@pytest.mark.parametrize("make", [
    lambda: torch.ones(3),
    lambda: torch.ones(3).pin_memory() + 1,
    lambda: torch.ones(3).pin_memory().clone(),
    lambda: torch.ones(3, device="neuron"),
    lambda: torch.ones(3, device="neuron").cpu(),
    lambda: torch.ones(3, device="meta"),
    lambda: torch.empty(0),
])  # fmt: skip
def test_not_pinned(make: object) -> None:
    assert not make().is_pinned()  # type: ignore[operator]


def test_memory_that_was_pinned_once_is_not_pinned_for_the_next_owner() -> None:
    sizes = (64, 4096, 1 << 20)
    addresses = {torch.empty(size, dtype=torch.uint8).pin_memory().data_ptr() for size in sizes for _ in range(5)}
    gc.collect()
    later = [torch.empty(size, dtype=torch.uint8) for size in sizes for _ in range(20)]
    assert addresses & {tensor.data_ptr() for tensor in later}  # the host's allocator hands them out again
    assert not any(tensor.is_pinned() for tensor in later)


def test_storages_pin_too() -> None:
    storage = torch.arange(4.0).untyped_storage()
    assert not storage.is_pinned()
    assert storage.pin_memory().is_pinned()
    assert storage.pin_memory().tolist() == storage.tolist()
    assert not torch.ones(2, device="neuron").untyped_storage().is_pinned()


def test_only_dense_cpu_tensors_can_be_pinned() -> None:
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(3, device="neuron").pin_memory()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(3, device="neuron", pin_memory=True)


def test_pinned_memory_takes_no_device_memory_and_moves_like_any_other() -> None:
    before = torch.neuron.memory_allocated()
    pinned = torch.arange(1000.0).pin_memory()
    assert torch.neuron.memory_allocated() == before
    moved = pinned.to("neuron", non_blocking=True)
    torch.neuron.synchronize()
    assert torch.equal(moved.cpu(), pinned)
    back = torch.empty(1000, pin_memory=True)
    back.copy_(moved * 2, non_blocking=True)
    torch.neuron.synchronize()
    assert torch.equal(back, pinned * 2)


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_pins_its_batches(workers: int) -> None:
    data = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    batches = list(DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers))
    assert len(batches) == 3
    for inputs, labels in batches:
        assert inputs.is_pinned()
        assert labels.is_pinned()
    assert torch.cat([inputs.to("neuron") for inputs, _ in batches]).sum() == 66
    (plain, _), *_ = DataLoader(data, batch_size=2)
    assert not plain.is_pinned()


def test_empty_host_cache_keeps_live_tensors() -> None:
    pinned = [torch.full((100,), value, dtype=torch.uint8).pin_memory() for value in range(5)]
    del pinned[2:4]
    torch.accelerator.empty_host_cache()
    assert [int(tensor[-1]) for tensor in pinned] == [0, 1, 4]
    assert all(tensor.is_pinned() for tensor in pinned)
