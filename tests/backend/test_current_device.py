"""Which device is meant when none is named, and what happens when one is named that is not there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

COUNT = torch.neuron.device_count()


def current() -> int:
    """The current device, by every way of asking."""
    found = {
        torch.neuron.current_device(),
        torch.accelerator.current_device_index(),
        torch.empty(1, device="neuron").device.index,
        torch.ones(1).neuron().device.index,
        torch.Generator(device="neuron").device.index,
        torch.neuron.current_stream().device_index,
    }
    (index,) = found
    assert isinstance(index, int)
    return index


@pytest.mark.parametrize("device", [1, "neuron:1", "1", torch.device("neuron", 1)])
def test_set_device(device: Any) -> None:
    torch.neuron.set_device(device)
    assert current() == 1
    for nothing in (None, "neuron", torch.device("neuron")):
        torch.neuron.set_device(nothing)
        assert current() == 1


@pytest.mark.parametrize("index", [0, 1])
def test_an_integer_is_a_neuron_device(index: int) -> None:
    device = torch.device("neuron", index)
    assert torch.device(index) == device
    for tensor in (
        torch.ones(1, device=index),
        torch.tensor([1], device=index),
        torch.arange(3, device=index),
        torch.ones(1).to(index),
        torch.ones(1).to(index, torch.float16),
        torch.ones(1, device="neuron:3").to(index),
        torch.ones(1).neuron(index),
        torch.ones(1).new_zeros(2, device=index),
        torch.zeros_like(torch.ones(1), device=index),
        torch.nn.Linear(1, 1, device=index).weight,
        torch.nn.Linear(1, 1).to(index).weight,
        torch.nn.Linear(1, 1).to_empty(device=index).weight,
    ):
        assert tensor.device == device
        assert tensor.get_device() == index
        assert tensor.to(index) is tensor
        assert tensor.to(f"neuron:{index}") is tensor
    with torch.device(index):
        assert torch.ones(1).device == device
    assert torch.Generator(device=index).device == torch.Stream(device=index).device == device
    assert torch.neuron.current_device() == 0


def test_contexts_nest_and_restore() -> None:
    with torch.neuron.device(1):
        assert current() == 1
        with torch.neuron.device("neuron:2"), torch.neuron.device(None):
            assert current() == 2
        with torch.neuron.device(torch.device("neuron", 3)), torch.neuron.device(0):
            assert current() == 0
        assert current() == 1
    assert current() == 0


def test_context_restores_after_an_error_and_can_be_used_again() -> None:
    context = torch.neuron.device(1)
    with pytest.raises(KeyError), context:
        raise KeyError
    assert current() == 0
    with context:
        assert current() == 1
        with context:
            assert current() == 1
        assert current() == 1
    assert current() == 0


def test_device_of_a_tensor() -> None:
    with torch.neuron.device_of(torch.empty(1, device="neuron:2")):
        assert current() == 2
        with torch.neuron.device_of(torch.empty(1)):
            assert current() == 2
    assert current() == 0


def test_device_as_context_and_default_device() -> None:
    with torch.device("neuron"):
        assert torch.ones(2).device == torch.device("neuron", 0)
        assert torch.ones(2, device="cpu").is_cpu
        assert torch.nn.LayerNorm(2).weight.is_neuron
        with torch.neuron.device(1):
            assert torch.arange(3).device.index == 1
        with torch.device("neuron", 2):
            assert torch.tensor([1.0]).device.index == 2
    assert torch.ones(2).is_cpu


def test_set_default_device() -> None:
    torch.set_default_device("neuron:1")
    try:
        assert torch.get_default_device() == torch.device("neuron", 1)
        for tensor in (torch.ones(2), torch.tensor(3), torch.full((2,), 3), torch.eye(2), torch.empty(0)):
            assert tensor.device == torch.device("neuron", 1)
        assert torch.neuron.current_device() == 0
        assert torch.ones(2, device="neuron").device.index == 0
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).is_cpu


def test_threads_have_a_current_device_each() -> None:
    inside, seen = [], threading.Event()

    def work() -> None:
        inside.append(torch.neuron.current_device())
        torch.neuron.set_device(2)
        inside.append(current())
        seen.set()

    torch.neuron.set_device(1)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen.is_set()
    assert inside == [0, 2]
    assert current() == 1


@pytest.mark.parametrize("index", [COUNT, 100, 127])
@pytest.mark.parametrize(
    "use",
    [
        lambda device: torch.empty(1, device=device),
        lambda device: torch.empty_strided((1,), (1,), device=device),
        lambda device: torch.ones(1).to(device),
        lambda device: torch.ones(1, device="neuron").to(device),
        lambda device: torch.ones(1).neuron(torch.device(device)),
        lambda device: torch.ones(1, device="neuron").new_zeros(1, device=device),
        lambda device: torch.nn.Linear(1, 1).to(device),
        lambda device: torch.nn.Linear(1, 1).neuron(torch.device(device)),
        lambda device: torch.Generator(device=device),
        lambda device: torch.Stream(device=device),
        lambda device: torch.UntypedStorage(4, device=device),
        lambda device: torch.ones(1).untyped_storage().neuron(torch.device(device).index),
        lambda device: torch.accelerator.set_device_index(device),
        lambda device: torch.accelerator.memory_stats(device),
    ],
)
def test_index_that_is_not_there_is_a_runtime_error_for_tensors(use: Callable[[str], Any], index: int) -> None:
    torch.neuron.init()
    with pytest.raises(RuntimeError, match=rf"neuron:{index} .*{COUNT} neuron device"):
        use(f"neuron:{index}")
    assert current() == 0


@pytest.mark.parametrize("index", [COUNT, 100, -1])
@pytest.mark.parametrize(
    "use",
    [
        torch.neuron.set_device,
        lambda index: torch.neuron.device(index).__enter__(),
        torch.neuron.synchronize,
        torch.neuron.Stream,
        torch.neuron.current_stream,
        torch.neuron.get_rng_state,
        torch.neuron.get_device_properties,
        torch.neuron.memory_allocated,
    ],
)
def test_index_that_is_not_there_is_a_value_error_for_the_module(use: Callable[[int], Any], index: int) -> None:
    with pytest.raises(ValueError, match=rf"Invalid device id: {index}\b.*\b{COUNT} neuron device"):
        use(index)
    assert current() == 0


def test_other_devices_are_value_errors_for_the_module() -> None:
    for device in ("cpu", torch.device("cpu"), "cuda:0"):
        with pytest.raises(ValueError, match="Expected neuron device, got"):
            torch.neuron.set_device(device)
        with pytest.raises(ValueError, match="Expected neuron device, got"), torch.neuron.device(device):
            pass
