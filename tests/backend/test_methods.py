"""What tensors, modules and storages get for the device: ``.neuron()`` and ``is_neuron``."""

from __future__ import annotations

import pytest
import torch
from torch import nn


def test_tensors_move_by_method() -> None:
    host = torch.arange(6.0).reshape(2, 3).t()
    for moved, index in ((host.neuron(), 0), (host.neuron(1), 1), (host.neuron(torch.device("neuron", 2)), 2)):
        assert moved.device == torch.device("neuron", index)
        assert moved.is_neuron
        assert not moved.is_cpu
        assert moved.stride() == host.stride()
        assert torch.equal(moved.cpu(), host)
    assert not host.is_neuron
    with torch.neuron.device(3):
        assert host.neuron().device.index == 3


def test_a_tensor_that_is_there_already_stays() -> None:
    tensor = torch.ones(2, device="neuron:1")
    assert tensor.neuron(1) is tensor
    assert tensor.to("neuron:1") is tensor
    assert tensor.neuron(0).device.index == 0
    with torch.neuron.device(1):
        assert tensor.neuron() is tensor


def test_options_of_the_method() -> None:
    host = torch.ones(2, 3, 4, 5, requires_grad=True)
    moved = host.neuron(non_blocking=True, memory_format=torch.channels_last)
    assert moved.is_contiguous(memory_format=torch.channels_last)
    moved.sum().backward()
    assert host.grad is not None
    assert host.grad.is_cpu
    with pytest.raises(RuntimeError, match="must be neuron device"):
        host.neuron("cpu")


def test_is_neuron_cannot_be_set_and_other_devices_say_no() -> None:
    tensor = torch.ones(2, device="neuron")
    with pytest.raises(AttributeError):
        tensor.is_neuron = False
    assert not torch.ones(2, device="meta").is_neuron
    assert nn.Parameter(tensor).is_neuron
    assert not tensor.is_cuda
    assert not tensor.is_meta


def test_type_strings_name_the_device() -> None:
    tensor = torch.ones(2, device="neuron")
    assert tensor.type() == "torch.neuron.FloatTensor"
    assert tensor.half().type() == "torch.neuron.HalfTensor"
    assert tensor.long().type() == "torch.neuron.LongTensor"
    assert torch.ones(2).type("torch.neuron.IntTensor").device.type == "neuron"
    assert tensor.type(torch.float64).dtype == torch.float64


def test_numpy_is_refused_with_advice() -> None:
    tensor = torch.ones(2, device="neuron")
    with pytest.raises(TypeError, match=r"neuron:0 device type tensor to numpy.*\.cpu\(\)"):
        tensor.numpy()
    assert tensor.numpy(force=True).tolist() == tensor.tolist() == [1, 1]


def test_modules_move_with_parameters_buffers_and_gradients() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    module(torch.randn(5, 3)).sum().backward()
    parameters = list(module.parameters())
    assert module.neuron(1) is module
    assert list(module.parameters()) == parameters  # the same objects: an optimizer built before goes on
    for tensor in (*module.parameters(), *module.buffers()):
        assert tensor.device == torch.device("neuron", 1)
    for parameter in module.parameters():
        assert parameter.grad is not None
        assert parameter.grad.device == torch.device("neuron", 1)
    assert all(tensor.is_cpu for tensor in module.cpu().state_dict().values())
    assert module.neuron()[0].weight.device.index == 0


def test_storages_know_and_move() -> None:
    host = torch.arange(3.0).untyped_storage()
    assert not host.is_neuron
    moved = host.neuron(1)
    assert moved.is_neuron
    assert moved.device == torch.device("neuron", 1)
    assert moved.neuron(1) is moved
    assert moved.cpu().tolist() == host.tolist()
    assert torch.TypedStorage([1, 2], dtype=torch.int32).neuron(1).device.index == 1
