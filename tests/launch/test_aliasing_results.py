"""Kernels that return an argument, or a view of one, instead of fresh memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Define = Callable[..., Any]


def test_in_place_op_returns_the_tensor_object_itself() -> None:
    x = torch.ones(3, device="neuron")
    assert x.add_(1) is x  # typed
    assert x.lgamma_() is x  # boxed
    out = torch.empty(3, device="neuron")
    assert torch.sin(x, out=out) is out
    assert torch.lgamma(x, out=out) is out


def test_in_place_foreach_writes_to_the_tensors_of_the_list() -> None:
    tensors = [torch.ones(2, device="neuron"), torch.ones(3, device="neuron")]
    torch._foreach_mul_(tensors, 3)
    torch._foreach_lgamma_(tensors)
    expected = torch.full((2,), 3.0).lgamma()
    assert torch.equal(tensors[0].cpu(), expected)
    assert torch.equal(tensors[1].cpu(), expected[:1].expand(3))


def test_kernel_that_returns_its_argument_gives_that_tensor(cpu_operator: Define) -> None:
    same = cpu_operator("same(Tensor x) -> Tensor", lambda x: x)
    x = torch.ones(3, device="neuron")
    y = same(x)
    assert y is x
    assert x.device.type == y.device.type == "neuron"


def test_kernel_that_returns_a_view_gives_a_view_of_the_device_tensor(cpu_operator: Define) -> None:
    tail = cpu_operator("tail(Tensor(a) x) -> Tensor(a)", lambda x: x[1:])
    x = torch.arange(4.0, device="neuron")
    view = tail(x)
    assert view.device == x.device
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert (view.storage_offset(), view.shape) == (1, (3,))
    view.fill_(9)
    assert x.tolist() == [0, 9, 9, 9]


def test_view_of_a_view_keeps_strides_and_offset(cpu_operator: Define) -> None:
    mirror = cpu_operator("mirror(Tensor(a) x) -> Tensor(a)", lambda x: x.t()[::2])
    base = torch.arange(24.0).reshape(4, 6).to("neuron")
    view = mirror(base[1:, 1:])
    assert (view.stride(), view.storage_offset()) == ((2, 6), 7)
    assert torch.equal(view.cpu(), torch.arange(24.0).reshape(4, 6)[1:, 1:].t()[::2])


def test_view_outlives_the_tensor_it_was_taken_from(cpu_operator: Define) -> None:
    head = cpu_operator("head(Tensor(a) x) -> Tensor(a)", lambda x: x[:2])
    x = torch.full((1000,), 5.0, device="neuron")
    view = head(x)
    del x
    torch.full((1000,), 6.0, device="neuron")  # would take the freed block
    assert view.tolist() == [5, 5]


def test_returning_two_arguments_and_a_fresh_tensor(cpu_operator: Define) -> None:
    swap = cpu_operator("swap(Tensor x, Tensor y) -> (Tensor, Tensor, Tensor)", lambda x, y: (y, x, x + y))
    x, y = torch.ones(2, device="neuron"), torch.zeros(2, device="neuron")
    first, second, total = swap(x, y)
    assert first is y
    assert second is x
    assert total.tolist() == [1, 1]


def test_list_of_views_of_one_argument(cpu_operator: Define) -> None:
    rows = cpu_operator("rows(Tensor(a) x) -> Tensor(a)[]", lambda x: list(x.unbind(0)))
    x = torch.zeros(3, 2, device="neuron")
    for number, row in enumerate(rows(x)):
        row.fill_(number)
    assert x.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_one_tensor_given_twice_is_one_tensor_to_the_kernel(cpu_operator: Define) -> None:
    seen: list[bool] = []
    pair = cpu_operator("pair(Tensor x, Tensor y) -> Tensor", lambda x, y: [seen.append(x is y), x + y][1])
    x = torch.ones(3, device="neuron")
    pair(x, x)
    pair(x, x.clone())
    assert seen == [True, False]


def test_two_views_of_one_storage_are_so_to_the_kernel(cpu_operator: Define) -> None:
    shared: list[bool] = []

    def kernel(x: Tensor, y: Tensor) -> Tensor:
        shared.append(x.untyped_storage()._cdata == y.untyped_storage()._cdata)
        y.fill_(4)
        return x.clone()

    observe = cpu_operator("observe(Tensor x, Tensor(a!) y) -> Tensor", kernel)
    x = torch.zeros(4, device="neuron")
    assert observe(x, x[2:]).tolist() == [0, 0, 4, 4]
    observe(x, torch.zeros(4, device="neuron"))
    assert shared == [True, False]
