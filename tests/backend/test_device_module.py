"""torch.neuron: the names that TorchNeuron's module has, and what they answer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

neuron = torch.neuron

# TorchNeuron snapshot, neuron.py.
STATE = "is_initialized is_available init device_count current_device set_device device synchronize _is_in_bad_fork"
DEVICE = "get_device_name get_device_properties _get_device_index _sleep get_dynamo_metrics reset_dynamo_metrics"
AMP = "get_amp_supported_dtype is_bf16_supported"
RANDOM = "manual_seed manual_seed_all seed seed_all initial_seed get_rng_state set_rng_state"
STREAMS = "Stream Event stream current_stream default_stream set_stream wait_stream wait_event record_event query"
MEMORY = (
    "memory_stats memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_summary "
    "reset_peak_memory_stats reset_accumulated_memory_stats empty_cache"
)


@pytest.mark.parametrize("name", " ".join((STATE, DEVICE, AMP, RANDOM, STREAMS, MEMORY)).split())
def test_name_is_there_and_documented(name: str) -> None:
    found = getattr(neuron, name)
    assert callable(found)
    assert name in neuron.__all__
    assert name.startswith("_") or found.__doc__


def test_everything_that_is_announced_exists_and_nothing_else_answers() -> None:
    for name in neuron.__all__:
        getattr(neuron, name)
    with pytest.raises(AttributeError, match=r"torch\.neuron.*no_such_name"):
        neuron.no_such_name  # noqa: B018


def test_it_is_the_device_module() -> None:
    assert torch.get_device_module("neuron") is torch.get_device_module(torch.device("neuron", 1)) is neuron
    assert torch.get_device_module() is neuron
    assert torch.utils.backend_registration._get_custom_mod_func("device_count")() == neuron.device_count()
    assert torch._C._get_privateuse1_backend_name() == "neuron"


@pytest.mark.parametrize("name", MEMORY.split())
def test_memory_is_a_module_of_its_own_too(name: str) -> None:
    assert getattr(neuron.memory, name) is getattr(neuron, name)


def test_state() -> None:
    assert neuron.is_available() is True
    assert neuron._is_in_bad_fork() is False
    neuron.init()
    neuron.init()
    assert neuron.is_initialized() is True
    neuron.synchronize()
    for device in (0, "neuron:1", "1", torch.device("neuron", 1), torch.device("neuron"), None):
        neuron.synchronize(device)
    neuron._sleep(1000)
    neuron.reset_dynamo_metrics()
    assert set(neuron.get_dynamo_metrics().values()) == {0}


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (0, "neuron:0"),
        (1, "neuron:1"),
        (torch.device("neuron", 1), "neuron:1"),
        (torch.device("neuron"), "neuron"),
    ],
)
def test_name_of_a_device_is_its_address(device: Any, name: str) -> None:
    assert neuron.get_device_name(device) == name
    assert neuron.get_device_name() == "neuron:0"


@pytest.mark.parametrize("device", ["neuron:0", None, 1.0, 4, -1, torch.device("cpu"), torch.device("neuron", 4)])
def test_name_of_anything_else_is_a_value_error(device: Any) -> None:
    with pytest.raises(ValueError):
        neuron.get_device_name(device)


def test_autocast_dtypes() -> None:
    assert neuron.get_amp_supported_dtype() == [torch.float32, torch.float16, torch.bfloat16]
    assert neuron.is_bf16_supported() is True
    assert torch.get_autocast_dtype("neuron") == torch.float16  # PyTorch's default for such devices


@pytest.mark.parametrize(
    ("device", "index"),
    [(0, 0), (3, 3), ("neuron:2", 2), ("1", 1), (torch.device("neuron", 3), 3)],
)
def test_index_of_a_device(device: Any, index: int) -> None:
    assert neuron._get_device_index(device) == index
    assert neuron._get_device_index(device, optional=True) == index


def test_index_without_a_number_is_the_current_device_or_an_error() -> None:
    with neuron.device(2):
        for device in (None, "neuron", torch.device("neuron")):
            assert neuron._get_device_index(device, optional=True) == 2
            with pytest.raises(ValueError, match="with an index"):
                neuron._get_device_index(device)


def test_index_of_other_devices() -> None:
    assert neuron._get_device_index(torch.device("cpu"), allow_cpu=True) is None
    assert neuron._get_device_index("cpu", allow_cpu=True) is None
    for device in ("cpu", torch.device("cpu"), "cuda:0", torch.device("meta"), "nonsense"):
        with pytest.raises(ValueError, match="Expected neuron device, got"):
            neuron._get_device_index(device)
    for number in (-1, 4, "4", "neuron:4"):
        with pytest.raises(ValueError, match="Invalid device id"):
            neuron._get_device_index(number)


def test_memory_summary_is_a_table_of_the_statistics() -> None:
    held = torch.ones(3 * 2**20, dtype=torch.uint8, device="neuron:1")
    text = neuron.memory_summary(1)
    assert "Neuron Memory Summary, Device 1" in text
    assert "3.0 MiB" in text
    assert all(word in text for word in ("allocated", "reserved", "active", "scratch", "small pool", "large pool"))
    short = neuron.memory_summary("neuron:1", abbreviated=True)
    assert "small pool" not in short
    assert len(short.splitlines()) == len(text.splitlines()) - 6
    assert held.device.index == 1


def test_memory_functions_mean_the_current_device_and_refuse_others() -> None:
    with neuron.device(1):
        held = torch.empty(5 * 2**20, dtype=torch.uint8, device="neuron")
        assert neuron.memory_allocated() == neuron.memory_allocated(1) == torch.accelerator.memory_allocated(1)
        assert neuron.memory_allocated() >= held.nbytes
        assert neuron.mem_get_info() == torch.accelerator.get_memory_info(1)
    for function in (neuron.memory_allocated, neuron.memory_stats, neuron.mem_get_info, neuron.memory_summary):
        for device in (99, -1, "neuron:99", "cpu"):
            with pytest.raises(ValueError):
                function(device)
