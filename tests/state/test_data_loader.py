"""DataLoader in a process that uses the device: workers make CPU tensors, which go to the device pinned or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Squares(Dataset[dict[str, Any]]):
    """Makes its tensors in the worker; with a number, the device is used there from that item on."""

    def __init__(self, device_from: int = 1000) -> None:
        self.device_from = device_from

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> dict[str, Any]:
        x = torch.full((3,), float(index))
        return {"x": x, "y": index**2, "nested": [x.neuron() if index >= self.device_from else x]}


@pytest.fixture(autouse=True)
def _started_device() -> None:
    # A backward on each device: threads that compute for the first time after a loader with pinned memory has run do so
    # with one thread (PyTorch's pinning thread lowers the number for all), which changes the bits of large sums.
    for index in range(torch.accelerator.device_count()):
        x = torch.ones(200, 200, device=f"neuron:{index}", requires_grad=True)
        (x @ x).sum().backward()


def check(batches: list[Any], *, pinned: bool) -> None:
    assert [batch["y"].tolist() for batch in batches] == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    for batch in batches:
        assert batch["x"].device.type == "cpu"
        assert batch["x"].is_pinned() == batch["nested"][0].is_pinned() == pinned
        on_device = batch["x"].to("neuron", non_blocking=True)
        assert torch.equal((on_device[:, 0] ** 2).cpu(), batch["y"].float())


@pytest.mark.parametrize("pin_memory", [False, True])
def test_without_workers(pin_memory: bool) -> None:
    check(list(DataLoader(Squares(), batch_size=4, pin_memory=pin_memory)), pinned=pin_memory)


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("pin_memory", [False, True])
def test_with_workers(context: str, pin_memory: bool) -> None:
    data: Any = Squares()
    if context == "spawn":  # a spawned worker imports its dataset by name, which pytest's modules do not have
        x = torch.arange(10.0).unsqueeze(1).expand(10, 3)
        data = TensorDataset(x, torch.arange(10) ** 2)
    loader = DataLoader(
        data,
        batch_size=4,
        num_workers=1 if context == "spawn" else 2,
        multiprocessing_context=context,
        pin_memory=pin_memory,
    )
    batches = [b if isinstance(b, dict) else {"x": b[0], "y": b[1], "nested": [b[0]]} for b in loader]
    check(batches, pinned=pin_memory)


def test_worker_that_uses_the_device_after_fork_says_what_to_do() -> None:
    batches: Any = iter(DataLoader(Squares(device_from=5), num_workers=1, multiprocessing_context="fork"))
    with pytest.raises(RuntimeError, match=r"forked subprocess.*'spawn' start method"):
        list(batches)
    batches._shutdown_workers()  # else the garbage collector waits five seconds for them


def test_batches_of_device_tensors_need_no_worker() -> None:
    x = torch.arange(6.0).to("neuron")
    batches = [batch[0] for batch in DataLoader(TensorDataset(x), batch_size=4)]
    assert [batch.device.type for batch in batches] == ["neuron", "neuron"]
    assert torch.cat(batches).tolist() == x.tolist()


def test_shuffling_is_that_of_cpu_whatever_the_default_device() -> None:
    def order() -> list[int]:
        torch.manual_seed(5)
        return [int(batch) for batch in DataLoader(range(20), shuffle=True)]

    expected = order()
    assert order() == expected != list(range(20))
    torch.rand(3, device="neuron")
    assert order() == expected


@pytest.mark.parametrize("device", ["neuron", "neuron:0"])
def test_shuffling_with_a_generator_of_the_default_device(device: str) -> None:
    def order(seed: int) -> list[int]:
        generator = torch.Generator(device).manual_seed(seed)
        batches = list(DataLoader(range(20), batch_size=4, shuffle=True, generator=generator))
        assert {batch.device.type for batch in batches} == {"neuron"}
        return [value for batch in batches for value in batch.tolist()]

    with torch.device(device):
        assert order(5) == order(5) != order(6)
        assert sorted(order(5)) == list(range(20))
        parts = torch.utils.data.random_split(range(10), [7, 3], generator=torch.Generator(device).manual_seed(1))
    assert sorted([*parts[0], *parts[1]]) == list(range(10))


def test_pinned_memory_is_only_for_cpu_tensors() -> None:
    assert torch.ones(3).pin_memory().is_pinned()
    assert not torch.ones(3).is_pinned()
    assert not torch.ones(3, device="neuron").is_pinned()
    with pytest.raises(RuntimeError, match="pin"):
        torch.ones(3, device="neuron").pin_memory()
    with pytest.raises(RuntimeError, match="pin"):
        torch.ones(3, device="neuron", pin_memory=True)


def test_pinned_tensors_compute_and_keep_their_values() -> None:
    pinned: Tensor = torch.arange(100.0).pin_memory()
    assert (pinned + 1).sum().item() == 5050
    del pinned
    torch.accelerator.empty_host_cache()
