"""Constructors from before device= arguments, which older libraries still call: they stay on the tensor's device."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(params=["neuron:0", "neuron:1"])
def tensor(request: pytest.FixtureRequest) -> torch.Tensor:
    return torch.ones(2, device=request.param)


def test_new_makes_tensors_of_the_same_device_and_dtype(tensor: torch.Tensor) -> None:
    for made, shape in (
        (tensor.new(3), (3,)),
        (tensor.new(2, 3), (2, 3)),
        (tensor.new(), (0,)),
        (tensor.new(torch.Size([4])), (4,)),
        (tensor.new([1, 2]), (2,)),
        (tensor.new_empty(3, 2), (3, 2)),
    ):
        assert (made.device, made.dtype, made.shape) == (tensor.device, torch.float32, shape)
    assert tensor.new([1, 2]).tolist() == [1, 2]
    assert tensor.long().new(2).dtype == torch.long
    assert tensor.new(tensor.untyped_storage()).data_ptr() == tensor.data_ptr()


def test_new_refuses_a_device_of_another_type(tensor: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="legacy constructor expects device type"):
        tensor.new(2, device="cpu")


def test_type_as_moves_and_converts(tensor: torch.Tensor) -> None:
    assert torch.arange(2).type_as(tensor).device.type == "neuron"
    assert torch.arange(2).type_as(tensor).dtype == torch.float32
    assert tensor.type_as(torch.ones(1, dtype=torch.long)).tolist() == [1, 1]
    assert tensor.type_as(torch.ones(1)).device.type == "cpu"


def test_set_empties_and_resize_keeps(tensor: torch.Tensor) -> None:
    grown = tensor.clone().resize_(5)
    assert grown.shape == (5,)
    assert grown[:2].tolist() == [1, 1]
    emptied = grown.set_()
    assert (emptied.numel(), emptied.device) == (0, tensor.device)


def test_conversion_methods_stay_on_the_device(tensor: torch.Tensor) -> None:
    for name in ("double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat"):
        made = getattr(tensor, name)()
        assert made.device == tensor.device
        assert made.dtype == getattr(torch.ones(2), name)().dtype
