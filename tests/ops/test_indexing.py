"""Indexing, gather, scatter and their families: CPU's values, gradients and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Compare = Callable[..., Any]

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
# Of a 4 x 5 x 3 tensor x, with values v of that size and indices i (4 x 2 x 3, below 4) on the same device.
FUNCTIONS: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "index": lambda x, v, i: [x[i], x[i[:, 0, 0]], x[:, i[0, 0]], x[i[0, 0], :, i[0, 0].clamp(max=2)]],
    "index with a mask": lambda x, v, i: [
        x[x > 0],
        x[(x > 0).any(-1)],
        x[:, torch.arange(5, device=x.device) % 2 == 0],
    ],
    "index with None and Ellipsis": lambda x, v, i: [x[None, i[0, 0]], x[..., i[0, 0].clamp(max=2)]],
    "index_select": lambda x, v, i: x.index_select(1, i[:, 0, 0]),
    "take": lambda x, v, i: [x.take(i), x.take_along_dim(i, 1)],
    "gather": lambda x, v, i: x.gather(1, i),
    "masked_select": lambda x, v, i: x.masked_select(x > 0.3),
    "masked_fill": lambda x, v, i: [x.masked_fill(x > 0, 2), x.masked_fill(x[:, :1] > 0, v.sum())],
    "where": lambda x, v, i: [torch.where(x > 0, x, v), torch.where(x > 0, x, 2.0), torch.where(x > 0)],
    "nonzero": lambda x, v, i: [(x > 0).nonzero(), torch.nonzero(x > 9), x.argwhere(), torch.count_nonzero(x, 1)],
    "scatter": lambda x, v, i: [x.scatter(1, i, v[:, :2]), x.scatter(1, i, 7.0)],
    "scatter_add": lambda x, v, i: x.scatter_add(1, i, v[:, :2]),
    "scatter by reduction": lambda x, v, i: [x.scatter_reduce(1, i, v[:, :2], r) for r in REDUCTIONS],
    "scatter without self": lambda x, v, i: x.scatter_reduce(0, i, v[:, :2], "mean", include_self=False),
    "index_add": lambda x, v, i: x.index_add(0, i[:, 0, 0], v, alpha=2),
    "index_copy": lambda x, v, i: x.index_copy(1, torch.tensor([3, 0, 4], device=x.device), v[:, :3]),
    "index_fill": lambda x, v, i: x.index_fill(2, torch.tensor([0, 2], device=x.device), -1.0),
    "index_reduce": lambda x, v, i: x.index_reduce(0, torch.tensor([0, 2, 1, 3], device=x.device), v, "prod"),
    "index_put": lambda x, v, i: x.index_put((torch.tensor([0, 3], device=x.device),), v[:2]),
    "index_put, accumulated": lambda x, v, i: x.index_put((i[:, 0, 0],), v, accumulate=True),
    "put": lambda x, v, i: x.put(torch.tensor([0, 3, 59], device=x.device), v[0, 0], accumulate=True),
    "masked_scatter": lambda x, v, i: x.masked_scatter(x > 0, v),
    "diagonal_scatter": lambda x, v, i: torch.diagonal_scatter(x, v[:, 0], 0, 1, 2),
    "select_scatter": lambda x, v, i: torch.select_scatter(x, v[0], 0, 2),
    "slice_scatter": lambda x, v, i: torch.slice_scatter(x, v[:2], 0, 1, 3),
    "repeat_interleave": lambda x, v, i: [
        x.repeat_interleave(2, 1),
        x.repeat_interleave(i[:, 0, 0] % 3, 0, output_size=None),
    ],
    "roll, flip, rot90": lambda x, v, i: [x.roll((1, -2), (0, 1)), x.flip(0, 2), x.rot90(1, (0, 1))],
    "tril and triu": lambda x, v, i: [x.tril(-1), x.triu(1), x[0].tril(), torch.diag_embed(x[0]), torch.diag(x[0, 0])],
    "repeat and tile": lambda x, v, i: [x.repeat(2, 1, 1, 2), x.tile((2, 2)), torch.cartesian_prod(x[0, 0], v[0, 0])],
    "bucketize": lambda x, v, i: torch.bucketize(x.detach(), torch.tensor([-1.0, 0.0, 1.0], device=x.device)),
}


def operands() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, v = (torch.randn(4, 5, 3, generator=generator) for _ in range(2))
    return x, v, torch.randint(0, 3, (4, 2, 3), generator=generator)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(same_as_cpu: Compare, name: str) -> None:
    x, v, i = operands()
    same_as_cpu(FUNCTIONS[name], x.requires_grad_(), v.requires_grad_(), i)
    strided = torch.randn(5, 3, 8, generator=torch.Generator().manual_seed(2)).permute(2, 0, 1)[::2]
    same_as_cpu(FUNCTIONS[name], strided, v.detach().flip(0), i.transpose(0, 2).contiguous().transpose(0, 2))


def assign(key: Callable[[Tensor], Any], value: Callable[[Tensor], Any]) -> Callable[[Tensor], Tensor]:
    def run(x: Tensor) -> Tensor:
        x[key(x)] = value(x)
        return x

    return run


@pytest.mark.parametrize(
    "write",
    [
        assign(lambda x: 1, lambda x: 5),
        assign(lambda x: (slice(None), 2), lambda x: torch.arange(3.0, device=x.device)),
        assign(lambda x: x > 0, lambda x: 0.0),
        assign(lambda x: x > 0, lambda x: torch.arange(float((x > 0).sum().item()), device=x.device)),
        assign(lambda x: torch.tensor([0, 2], device=x.device), lambda x: x[:2].clone()),
        assign(lambda x: (torch.tensor([0, 2], device=x.device), slice(1, 3)), lambda x: 7),
        assign(lambda x: (Ellipsis, 0), lambda x: x[..., 1]),
        assign(lambda x: (torch.tensor([True, False, True, False]), 1), lambda x: torch.ones(3)[:1].to(x.device)),
        assign(lambda x: (None, slice(None), 0), lambda x: 2),
        assign(lambda x: ([0, 1], [2, 3]), lambda x: torch.tensor(4.0)),
    ],
)
def test_assignment(same_as_cpu: Compare, write: Callable[[Tensor], Tensor]) -> None:
    same_as_cpu(write, operands()[0])
    same_as_cpu(lambda x: write(x.transpose(0, 1).clone().transpose(0, 1)), operands()[0])


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    data=st.data(),
    accumulate=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.int64, torch.bool, torch.float16]),
)
def test_any_index_lists(
    same_as_cpu: Compare, shape: list[int], data: st.DataObject, accumulate: bool, dtype: torch.dtype
) -> None:
    x = torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
    count = data.draw(st.integers(1, len(shape)))
    length = data.draw(st.integers(0, 3))
    indices: list[Any] = [
        data.draw(
            st.one_of(
                st.just(None),
                st.lists(st.integers(-size, size - 1), min_size=length, max_size=length).map(torch.tensor),
            )
        )
        for size in shape[:count]
    ]
    if all(index is None for index in indices):
        return
    indices = [None if index is None else index.long() for index in indices]
    same_as_cpu(lambda x, *i: torch.ops.aten.index(x, list(i)), x, *indices)
    if not (accumulate and dtype == torch.bool):
        same_as_cpu(
            lambda x, *i: torch.ops.aten.index_put_(
                x, list(i), torch.ones((), dtype=x.dtype, device=x.device), accumulate
            ),
            x,
            *indices,
        )


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64, torch.bool, torch.bfloat16], ids=str)
def test_dtypes(same_as_cpu: Compare, dtype: torch.dtype) -> None:
    x = torch.arange(12).reshape(3, 4).to(dtype)
    i = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 1]])
    same_as_cpu(lambda x, i: [x.gather(0, i), x[i[0, :2]], x.index_select(0, i[0, :3]), x.take(i), x[x != 0]], x, i)
    same_as_cpu(lambda x, i: x.scatter_(0, i, x[:2].clone()), x, i[:, :1].expand(2, 4).clone())
    if dtype != torch.bool:
        same_as_cpu(lambda x, i: [x.scatter_add(0, i, x[:2]), x.index_add(0, i[0, :3], x)], x, i)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8], ids=str)
def test_index_dtypes_are_taken_or_refused_as_on_cpu(dtype: torch.dtype) -> None:
    x, i = torch.arange(4.0), torch.tensor([0, 1, 1, 0]).to(dtype)
    for function in (
        lambda x, i: x[i],
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.gather(0, i),
        lambda x, i: torch.embedding(x[:, None], i),
        lambda x, i: x.scatter(0, i, 2.0),
        lambda x, i: x.index_add(0, i, x),
    ):
        try:
            expected = function(x, i)
        except (RuntimeError, IndexError) as error:
            with pytest.raises(type(error)) as caught:
                function(x.to("neuron"), i.to("neuron"))
            assert str(caught.value).splitlines()[0].replace("neuronFloat", "torch.Float") == str(error).splitlines()[0]
        else:
            assert torch.equal(function(x.to("neuron"), i.to("neuron")).cpu(), expected)
