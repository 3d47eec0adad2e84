"""resize_, set_, storages that change size, and .data: what a tensor sees, and of how much memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Compare = Callable[..., Any]


def whole(x: Tensor) -> Tensor:
    """All of the storage of x as a vector."""
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())


@given(
    first=st.lists(st.integers(0, 5), max_size=4),
    second=st.lists(st.integers(0, 5), max_size=4),
    offset=st.integers(0, 4),
    transposed=st.booleans(),
)
def test_resize_is_that_of_cpu(
    same_as_cpu: Compare, first: list[int], second: list[int], offset: int, transposed: bool
) -> None:
    def resize(x: Tensor) -> list[Any]:
        old = whole(x).numel()
        assert x.resize_(second) is x
        whole(x)[old:] = -1  # new memory has no defined contents
        return [x, whole(x)]

    size = torch.Size(first).numel()
    x = torch.arange(float(size + offset))[offset:].view(first)
    same_as_cpu(resize, x.permute(tuple(range(x.dim()))[::-1]) if transposed else x)


@given(shape=st.lists(st.integers(1, 4), min_size=4, max_size=4), same=st.booleans())
def test_resize_to_a_memory_format(same_as_cpu: Compare, shape: list[int], same: bool) -> None:
    def resize(x: Tensor) -> Tensor:
        return x.resize_(shape, memory_format=torch.channels_last).zero_()

    same_as_cpu(resize, torch.ones(shape if same else [1]))


def test_resize_takes_and_keeps_memory(allocated: Callable[..., int]) -> None:
    before = allocated()
    x = torch.ones(1024, device="neuron")
    x.resize_(1 << 16)
    assert allocated() - before == 4 << 16
    x.resize_(2)  # as everywhere in PyTorch, shrinking keeps the storage
    assert allocated() - before == 4 << 16
    assert x.tolist() == [1, 1]


def test_resize_as_and_errors() -> None:
    x = torch.ones(3, device="neuron")
    assert x.resize_as_(torch.empty(2, 2, device="neuron")).shape == (2, 2)
    with pytest.raises(RuntimeError):
        x.resize_(-1)
    with pytest.raises(RuntimeError, match=r"resize variables that require grad"):
        torch.ones(3, device="neuron", requires_grad=True).resize_(4)
    assert x.shape == (2, 2)


def test_new_memory_is_filled_when_algorithms_must_be_deterministic() -> None:
    try:
        torch.use_deterministic_algorithms(True)
        for device in ("cpu", "neuron"):
            assert torch.empty(5, device=device).isnan().all()
            assert torch.empty_strided((5,), (1,), device=device).isnan().all()
            assert (torch.empty(3, dtype=torch.int16, device=device) == torch.iinfo(torch.int16).max).all()
            assert torch.ones(2, device=device).resize_(4).isnan().tolist() == [False, False, True, True]
    finally:
        torch.use_deterministic_algorithms(False)


def set_nothing(x: Tensor, y: Tensor) -> Tensor:
    return x.set_()


def set_storage(x: Tensor, y: Tensor) -> Tensor:
    return x.set_(y.untyped_storage())


def set_part(x: Tensor, y: Tensor) -> Tensor:
    return x.set_(y.untyped_storage(), 2, (2, 3), (1, 2))


def set_part_contiguous(x: Tensor, y: Tensor) -> Tensor:
    return x.set_(y.untyped_storage(), 1, (2, 2))


def set_tensor(x: Tensor, y: Tensor) -> Tensor:
    return x.set_(y.t()[1:])


@pytest.mark.parametrize("form", [set_nothing, set_storage, set_part, set_part_contiguous, set_tensor])
def test_four_forms_of_set(same_as_cpu: Compare, form: Callable[[Tensor, Tensor], Tensor]) -> None:
    x, y = torch.ones(4), torch.arange(12.0).reshape(3, 4)
    result = same_as_cpu(form, x, y)
    assert result.device.type == "neuron"

    def shares(x: Tensor, y: Tensor) -> Tensor:
        form(x, y).fill_(-1)
        return y

    same_as_cpu(shares, x, y)


def test_set_grows_the_storage_for_all_who_see_it(same_as_cpu: Compare) -> None:
    def grow(x: Tensor, y: Tensor) -> list[Any]:
        old = whole(y).numel()
        x.set_(y.untyped_storage(), 1, (5, 4))
        whole(y)[old:] = 0
        return [x, y, y.untyped_storage().nbytes()]

    same_as_cpu(grow, torch.ones(1), torch.arange(6.0).reshape(2, 3))


def test_set_of_another_dtype_reads_the_same_bytes(same_as_cpu: Compare) -> None:
    same_as_cpu(lambda x, y: x.set_(y.untyped_storage()), torch.ones(1, dtype=torch.int16), torch.arange(6.0))


@pytest.mark.parametrize(
    "form",
    [
        lambda x, y: x.set_(y.untyped_storage(), -1, (2,)),
        lambda x, y: x.set_(y.untyped_storage(), 0, (2, 2), (1,)),
        lambda x, y: x.set_(y.untyped_storage(), 0, (-2,)),
        lambda x, y: x.set_(y.int()),
    ],
)
def test_set_refuses_what_cpu_refuses(form: Callable[[Tensor, Tensor], Any]) -> None:
    with pytest.raises(RuntimeError):
        form(torch.ones(2), torch.arange(6.0))
    x = torch.ones(2, device="neuron")
    with pytest.raises(RuntimeError):
        form(x, torch.arange(6.0, device="neuron"))
    assert x.shape == (2,)
    assert x.tolist() == [1, 1]


def test_set_refuses_memory_of_another_device() -> None:
    x = torch.ones(2, device="neuron")
    for other in (torch.ones(3), torch.ones(3, device="neuron:1")):
        for arguments in ((other,), (other.untyped_storage(),), (other.untyped_storage(), 0, (1,))):
            with pytest.raises(RuntimeError, match="device"):
                x.set_(*arguments)
    assert x.tolist() == [1, 1]


def test_storage_of_an_empty_tensor_from_set_can_grow() -> None:
    x = torch.ones(3, device="neuron:1").set_()
    assert (x.shape, x.device.index) == ((0,), 1)
    assert x.resize_(2).fill_(4).tolist() == [4, 4]
    assert x.untyped_storage().device == torch.device("neuron", 1)


def test_storage_resize(same_as_cpu: Compare) -> None:
    def resize(x: Tensor) -> list[Any]:
        storage = x.untyped_storage()
        storage.resize_(8)
        shrunk = whole(x).clone()
        storage.resize_(24)
        whole(x)[2:] = 9
        return [shrunk, x, storage.nbytes()]

    same_as_cpu(resize, torch.arange(4.0))


def test_storage_of_no_bytes_gives_its_memory_back_and_takes_it_again(allocated: Callable[..., int]) -> None:
    # As FSDP does between uses of a parameter.
    x = torch.ones(1 << 14, device="neuron")
    before = allocated()
    x.untyped_storage().resize_(0)
    assert allocated() == before - (4 << 14)
    assert x.shape == (1 << 14,)
    x.untyped_storage().resize_(4 << 14)
    x.fill_(2)
    assert x.sum().item() == 2 << 14
    assert allocated() == before


def test_storage_copy_fill_and_clone() -> None:
    x = torch.arange(4, dtype=torch.uint8, device="neuron")
    storage = x.untyped_storage()
    assert storage.tolist() == [0, 1, 2, 3]
    assert storage.clone().fill_(7).tolist() == [7] * 4
    assert storage.cpu().tolist() == [0, 1, 2, 3]
    storage.copy_(torch.full((4,), 5, dtype=torch.uint8).untyped_storage())
    assert x.tolist() == [5] * 4
    assert storage[1] == 5


def test_assigning_data() -> None:
    x, other = torch.ones(2, device="neuron"), torch.arange(3.0, device="neuron")
    x.data = other
    assert x.data_ptr() == other.data_ptr()
    x.add_(1)
    assert other.tolist() == [1, 2, 3]

    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.data = parameter.data.to("neuron:1")  # to another device, as module.to does
    assert parameter.device == torch.device("neuron", 1)
    (parameter * 2).sum().backward()
    assert parameter.grad is not None
    assert parameter.grad.device == parameter.device
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        parameter.data = torch.ones(2).to_sparse()


def test_data_is_a_view_that_autograd_does_not_see() -> None:
    x = torch.ones(2, device="neuron", requires_grad=True)
    x.data.mul_(3)
    assert x.tolist() == [3, 3]
    assert x._version == 0


def test_swap_tensors() -> None:
    x, y = torch.ones(2, device="neuron"), torch.zeros(3, device="neuron:1")
    torch.utils.swap_tensors(x, y)
    assert (x.shape, x.device.index, y.shape, y.device.index) == ((3,), 1, (2,), 0)
