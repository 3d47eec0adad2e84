"""Storages: their device, copies, sizes and files."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch


def numbers(device: str = "neuron:1") -> torch.UntypedStorage:
    return torch.arange(4.0).to(device).untyped_storage()


def values(storage: torch.UntypedStorage) -> list[float]:
    return torch.empty(0, device=storage.device).set_(storage).tolist()


def test_device_size_and_address() -> None:
    tensor = torch.arange(4.0).to("neuron:1")
    storage = tensor[1:].untyped_storage()
    assert storage.device == torch.device("neuron:1")
    assert storage.nbytes() == len(storage) == 16
    assert storage.data_ptr() == tensor.data_ptr()
    assert tensor.storage_offset() == 0


def test_moves_between_devices() -> None:
    storage = numbers("cpu")
    there = storage.to(device="neuron:1")
    assert there.device == torch.device("neuron:1")
    assert values(there) == [0, 1, 2, 3]
    assert values(there.to(device="neuron:0")) == [0, 1, 2, 3]
    assert values(there.cpu()) == [0, 1, 2, 3]
    assert storage.neuron().device == torch.device("neuron:0")
    assert there.is_neuron and not storage.is_neuron


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, torch.UntypedStorage.clone], ids=lambda f: f.__name__)
def test_copies(duplicate: Callable[[torch.UntypedStorage], torch.UntypedStorage]) -> None:
    storage = numbers()
    made = duplicate(storage)
    assert made.device == storage.device
    assert values(made) == [0, 1, 2, 3]
    made.fill_(0)
    assert values(storage) == [0, 1, 2, 3]


def test_copy_into_another_and_fill() -> None:
    storage = torch.zeros(4, device="neuron:0").untyped_storage()
    storage.copy_(numbers("neuron:1"))
    assert values(storage) == [0, 1, 2, 3]
    storage.copy_(torch.full((4,), 7.0).untyped_storage())
    assert values(storage) == [7, 7, 7, 7]


def test_resize_keeps_what_still_fits_and_frees_the_rest(allocated: Callable[..., int]) -> None:
    before = allocated(1)
    storage = numbers()
    storage.resize_(4096)
    assert storage.nbytes() == 4096
    assert values(storage)[:4] == [0, 1, 2, 3]
    storage.resize_(0)
    assert allocated(1) == before


@pytest.mark.parametrize("map_location", [None, "cpu", "neuron:0"])
@pytest.mark.parametrize("typed", [False, True])
def test_files(reload: Callable[..., Any], map_location: str | None, typed: bool) -> None:
    storage: Any = numbers()
    if typed:
        storage = torch.storage.TypedStorage(wrap_storage=storage, dtype=torch.float32, _internal=True)
    back = reload(storage, map_location=map_location, weights_only=False)  # always a TypedStorage, as from CPU
    assert back.dtype == (torch.float32 if typed else torch.uint8)
    assert back._untyped_storage.device == torch.device(map_location or "neuron:1")
    assert values(back._untyped_storage) == [0, 1, 2, 3]


def test_one_storage_saved_twice_is_one_storage(reload: Callable[..., Any]) -> None:
    tensor = torch.arange(4, dtype=torch.uint8).to("neuron")
    back = reload({"a": tensor, "storage": tensor.untyped_storage()}, weights_only=False)
    assert back["a"].untyped_storage().data_ptr() == back["storage"]._untyped_storage.data_ptr()


def test_elements_can_be_read_and_written() -> None:
    storage = torch.tensor([1, 2, 255], dtype=torch.uint8, device="neuron").untyped_storage()
    assert storage.tolist() == [1, 2, 255]
    storage[1] = 7
    assert storage[1] == 7


def test_share_memory_leaves_device_tensors_as_cuda_does() -> None:
    tensor = torch.arange(3.0).to("neuron")
    address = tensor.data_ptr()
    assert tensor.share_memory_() is tensor
    assert tensor.data_ptr() == address
    assert tensor.tolist() == [0, 1, 2]
    module = torch.nn.Linear(2, 2).to("neuron").share_memory()
    assert module.weight.device.type == "neuron"
