"""copy_ and what is built on it: every direction, dtype and layout gives what CPU's copy_ gives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing._internal.common_dtype import all_types_and_complex_and

import torch_neuron_sim
from torch_neuron_sim import neuron

Compare = Callable[..., Any]

DTYPES = all_types_and_complex_and(torch.bool, torch.float16, torch.bfloat16)
NARROW_DTYPES = (
    torch.float8_e5m2,
    torch.float8_e4m3fn,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.complex32,
)
# Source and destination of a copy that has a device at one end at least.
DIRECTIONS = (
    ("cpu", "neuron"),
    ("neuron", "cpu"),
    ("neuron", "neuron"),
    ("neuron:0", "neuron:1"),
    ("neuron:1", "neuron:0"),
)


def random_bits(dtype: torch.dtype, numel: int) -> Tensor:
    """Small values that every dtype has, so that conversions are defined."""
    return torch.arange(numel).remainder(5).to(dtype)


@pytest.mark.parametrize("direction", DIRECTIONS, ids=" to ".join)
def test_every_pair_of_dtypes(direction: tuple[str, str]) -> None:
    for first, second in product(DTYPES, DTYPES):
        source, destination = random_bits(first, 12).reshape(3, 4), torch.full((3, 4), 7).to(second)
        expected = destination.clone().copy_(source)
        target = destination.to(direction[1])
        assert target.copy_(source.to(direction[0])) is target
        assert torch.equal(target.cpu(), expected), (first, second)


@pytest.mark.parametrize("dtype", NARROW_DTYPES, ids=str)
def test_dtypes_that_no_kernel_computes_with(dtype: torch.dtype) -> None:
    source = random_bits(torch.float32, 6).to(dtype)
    there = source.to("neuron").to("neuron:1").clone()
    assert there.dtype == dtype
    assert torch.equal(there.cpu().view(torch.uint8), source.view(torch.uint8))
    assert torch.equal(there.to(torch.float32).cpu(), source.to(torch.float32))
    assert torch.equal(there.float().to(dtype).cpu().view(torch.uint8), source.view(torch.uint8))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_bit_patterns_survive(dtype: torch.dtype) -> None:
    if dtype == torch.bool:
        source = torch.tensor([True, False])
    else:
        torch.manual_seed(0)
        source = torch.randint(0, 256, (4096,), dtype=torch.uint8).view(dtype)
    back = source.to("neuron").to("neuron:1").cpu()
    assert torch.equal(back.view(torch.uint8), source.view(torch.uint8))


@st.composite
def geometries(draw: st.DrawFn, dims: int) -> tuple[list[int], list[int], int]:
    """Strides from a permutation and gaps: no two elements share memory."""
    shape = draw(st.lists(st.integers(0, 4), min_size=dims, max_size=dims))
    strides, step = [0] * dims, draw(st.integers(1, 3))
    for dim in draw(st.permutations(range(dims))):
        strides[dim] = step
        step *= max(shape[dim], 1) + draw(st.integers(0, 1))
    return shape, strides, draw(st.integers(0, 3))


def laid_out(values: Tensor, strides: list[int], offset: int, device: str) -> Tensor:
    size = offset + 1 + sum((n - 1) * stride for n, stride in zip(values.shape, strides, strict=True) if n)
    base = torch.full((max(size, 1),), 3).to(values.dtype).to(device)
    return base.as_strided(values.shape, strides, offset)


@given(
    data=st.data(),
    dims=st.integers(0, 7),
    direction=st.sampled_from(DIRECTIONS),
    dtypes=st.tuples(*[st.sampled_from(DTYPES)] * 2),
)
def test_any_strides_on_both_sides(
    data: st.DataObject, dims: int, direction: tuple[str, str], dtypes: tuple[torch.dtype, torch.dtype]
) -> None:
    shape, strides, offset = data.draw(geometries(dims))
    order = data.draw(st.permutations(range(dims)))
    values = random_bits(dtypes[0], torch.Size(shape).numel()).reshape(shape)
    source = values.permute(order).contiguous().to(direction[0]).permute([order.index(dim) for dim in range(dims)])
    target = laid_out(values.to(dtypes[1]), strides, offset, direction[1])
    expected = laid_out(values.to(dtypes[1]), strides, offset, "cpu").copy_(values)
    target.copy_(source)
    assert target.stride() == tuple(strides)
    whole, wanted = (t.as_strided((t.untyped_storage().nbytes() // t.itemsize,), (1,), 0) for t in (target, expected))
    assert torch.equal(whole.cpu(), wanted)  # and nothing between the elements was touched


@given(shape=st.lists(st.integers(1, 3), min_size=0, max_size=6), data=st.data(), direction=st.sampled_from(DIRECTIONS))
def test_broadcasting(shape: list[int], data: st.DataObject, direction: tuple[str, str]) -> None:
    kept = data.draw(st.integers(0, len(shape)))
    smaller = [data.draw(st.sampled_from([1, n])) for n in shape[len(shape) - kept :]]
    source = torch.randn(smaller)
    expected = torch.zeros(shape).copy_(source)
    assert torch.equal(torch.zeros(shape, device=direction[1]).copy_(source.to(direction[0])).cpu(), expected)


def test_source_that_does_not_broadcast_is_refused_as_on_cpu() -> None:
    with pytest.raises(RuntimeError) as on_cpu:
        torch.zeros(2, 3).copy_(torch.ones(2))
    for source, destination in DIRECTIONS:
        target = torch.zeros(2, 3, device=destination)
        with pytest.raises(RuntimeError) as caught:
            target.copy_(torch.ones(2, device=source))
        assert str(caught.value) == str(on_cpu.value)
        assert target.count_nonzero().item() == 0


def test_copies_within_one_storage(same_as_cpu: Compare) -> None:
    x = torch.arange(24.0).reshape(4, 6)
    same_as_cpu(lambda x: x.copy_(x), x)
    same_as_cpu(lambda x: [x[:2].copy_(x[2:]), x], x)
    same_as_cpu(lambda x: [x[:, :3].copy_(x[:, 3:].flip(0)), x], x)
    same_as_cpu(lambda x: [x[0].copy_(x.view(-1).as_strided((6,), (1,), 6)), x], x)
    same_as_cpu(lambda x: [x.view(-1)[::2].copy_(x.view(-1)[1::2]), x], x)
    same_as_cpu(lambda x: x.copy_(x.view(4, 6)), x)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x[:-1].copy_(x[1:]),
        lambda x: x[:1].expand(4, 4).copy_(torch.ones(4, 4)),
        lambda x: x.as_strided((4, 4), (1, 1), 0).copy_(x),
    ],
)
def test_overlapping_copies_are_refused_or_done_as_on_cpu(write: Callable[[Tensor], Any]) -> None:
    expected, x = torch.arange(16.0).reshape(4, 4), torch.arange(16.0).reshape(4, 4).to("neuron")
    try:
        write(expected)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as caught:
            write(x)
        assert str(caught.value) == str(error)
    else:
        write(x)
    assert torch.equal(x.cpu(), expected)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 1, 3, 1, 2, 1, 2), (2,) * 12, (1,) * 30])
def test_no_elements_and_many_dimensions(shape: tuple[int, ...]) -> None:
    source = torch.randn(shape)
    there = source.to("neuron")
    assert there.shape == shape
    assert torch.equal(there.cpu(), source)
    assert torch.equal(torch.empty(shape, device="neuron:1").copy_(there).cpu(), source)
    flipped = tuple(range(len(shape)))[::-1]
    assert torch.equal(there.permute(flipped).contiguous().cpu(), source.permute(flipped))


def test_non_blocking_copies_see_the_values_of_the_call() -> None:
    pinned = torch.arange(1000.0).pin_memory()
    there = pinned.to("neuron", non_blocking=True)
    pinned.fill_(-1)
    back = torch.empty(1000, pin_memory=True)
    back.copy_(there, non_blocking=True)
    there.fill_(-2)
    neuron.synchronize()
    assert torch.equal(back, torch.arange(1000.0))
    assert back.is_pinned()
    assert torch.equal(there.to("cpu", non_blocking=True), torch.full((1000,), -2.0))


def test_copies_do_not_share_memory() -> None:
    x = torch.zeros(3, device="neuron")
    for copy in (x.clone(), x.to("neuron:1"), x.to("neuron", copy=True), x.cpu(), x.double(), x.contiguous().clone()):
        copy.fill_(1)
        assert x.count_nonzero().item() == 0
    assert x.to("neuron") is x
    assert x.to("neuron:0", torch.float32) is x
    assert x.contiguous() is x


@pytest.mark.parametrize("format", [torch.preserve_format, torch.contiguous_format, torch.channels_last])
def test_layout_of_moved_tensors_is_that_of_cpu(format: torch.memory_format) -> None:
    base = torch.randn(2, 3, 4, 5)
    for source in (base, base.permute(0, 2, 3, 1), base[:, ::2], base[:1].expand(4, 3, 4, 5), base.flip(1)):
        expected = source.to(torch.float32, copy=True, memory_format=format)
        for found in (
            source.to("neuron", memory_format=format),
            source.to("neuron", torch.float64, memory_format=format).float(),
            source.to("neuron", copy=True).clone(memory_format=format),
        ):
            assert torch.equal(found.cpu(), expected)
        assert source.to("neuron", memory_format=format).stride() == expected.stride()


def test_gradients_go_through_moves(same_as_cpu: Compare) -> None:
    x = torch.randn(3, requires_grad=True)
    (x.to("neuron") * 2).to("neuron:1").cpu().double().sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
    same_as_cpu(lambda x: torch.zeros(2, 3, device=x.device).copy_(x * 3), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reading_a_scalar(dtype: torch.dtype) -> None:
    for value in (torch.tensor(1), torch.tensor([[3]]), torch.tensor([2, 0])[1]):
        x = value.to(dtype)
        there = x.to("neuron")
        assert there.item() == x.item()
        assert type(there.item()) is type(x.item())
        assert bool(there) == bool(x)
        if not dtype.is_complex:
            assert (int(there), float(there)) == (int(x), float(x))
    assert x.to("neuron").tolist() == x.tolist()


def test_reading_a_scalar_from_a_conj_view() -> None:
    z = torch.tensor(1 + 2j, device="neuron")
    assert z.conj().item() == 1 - 2j
    assert z.conj().imag.item() == -2


def test_copies_are_recorded_under_one_name() -> None:
    x = torch.ones(3)
    x.to("neuron").to("neuron:1").cpu()
    assert torch_neuron_sim.get_executed_ops() == ["aten::empty_strided", "aten::copy_"]
    assert torch_neuron_sim.get_fallback_ops() == []
