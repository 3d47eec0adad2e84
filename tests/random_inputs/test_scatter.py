"""Gather and the scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Same = Callable[..., None]

Case = tuple[Tensor, int, Tensor, Tensor]


def case(inputs: Any, data: st.DataObject) -> Case:
    """A destination, a dimension, indices into it that are rarely out of bounds, and a source."""
    x = data.draw(inputs.tensors(overlapping=False))
    dim = data.draw(st.integers(-x.dim(), max(x.dim() - 1, 0)))
    shape = [data.draw(st.integers(0, side)) for side in x.shape]
    if x.dim():
        shape[dim] = data.draw(st.integers(0, 5))
    index = data.draw(inputs.tensors(shape, dtypes=(torch.int64,)))
    side = (x.shape[dim] if x.dim() else 1) or 1
    wrong = data.draw(st.integers(0, 19)) == 0
    torch.empty(0, dtype=torch.int64).set_(index.untyped_storage()).remainder_(side + wrong)
    grown = [side + data.draw(st.integers(0, 1)) for side in shape]
    return x, dim, index, data.draw(inputs.tensors(grown, dtypes=(x.dtype,)))


@given(data=st.data())
def test_gather(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, dim, index, _ = case(inputs, data)
    x.requires_grad_(x.is_floating_point())
    same(lambda x, index: torch.gather(x, dim, index), x, index)
    same(lambda x, index: torch.take_along_dim(x, index, dim), x, index)


@given(data=st.data())
def test_scatter(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, dim, index, source = case(inputs, data)
    number = data.draw(st.sampled_from([0, 1, -2]))
    same(lambda x, index, source: torch.scatter(x, dim, index, source), x, index, source)
    same(lambda x, index, source: x.scatter_(dim, index, source), x, index, source)
    same(lambda x, index: x.scatter_(dim, index, number), x, index)
    same(lambda x, index: torch.scatter(x, dim, index, number), x, index)


@given(data=st.data())
def test_scatter_add(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, dim, index, source = case(inputs, data)
    same(lambda x, index, source: torch.scatter_add(x, dim, index, source), x, index, source)
    same(lambda x, index, source: x.scatter_add_(dim, index, source), x, index, source)


@given(data=st.data())
def test_scatter_reduce(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, dim, index, source = case(inputs, data)
    reduce, include = data.draw(st.sampled_from(["sum", "prod", "mean", "amax", "amin"])), data.draw(st.booleans())
    same(lambda x, i, s: torch.scatter_reduce(x, dim, i, s, reduce, include_self=include), x, index, source)
    same(lambda x, i, s: x.scatter_reduce_(dim, i, s, reduce, include_self=include), x, index, source)


@given(data=st.data())
def test_scatter_of_another_dtype_or_shape(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, dim, index, _ = case(inputs, data)
    source = data.draw(inputs.tensors())
    same(lambda x, index, source: x.scatter_add_(dim, index, source), x, index, source)
    same(lambda x, index, source: torch.gather(x, dim, index, out=source), x, index, source)


@given(data=st.data())
def test_slice_scatters(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(inputs.shapes(min_dims=1), overlapping=False))
    dim = data.draw(st.integers(-x.dim(), x.dim() - 1))
    start, end, step = (data.draw(st.integers(low, 5)) for low in (-5, -5, 1))
    part = x.movedim(dim, 0)[start:end:step].movedim(0, dim).shape
    shape = data.draw(st.one_of(st.just(list(part)), st.just(list(part)), inputs.shapes()))
    source = data.draw(inputs.tensors(shape, dtypes=(x.dtype,)))
    row = data.draw(inputs.tensors(x.movedim(dim, 0).shape[1:], dtypes=(x.dtype,)))
    same(lambda x, source: torch.slice_scatter(x, source, dim, start, end, step), x, source)
    same(lambda x, row: torch.select_scatter(x, row, dim, start), x, row)
