"""Subscripts of all kinds, read and written, and the functions that take an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Same = Callable[..., None]


def indices(inputs: Any, side: int, shape: Any = None) -> st.SearchStrategy[Tensor]:
    """Tensors of indices into ``side`` entries, of any layout, rarely out of bounds."""

    def make(x: Tensor, slip: int) -> Tensor:
        modulus = side + 1 if slip == 0 else max(side, 1)
        torch.empty(0, dtype=x.dtype).set_(x.untyped_storage()).remainder_(modulus)
        return x

    shape = inputs.shapes(max_dims=2, max_side=3) if shape is None else shape
    return st.builds(make, inputs.tensors(shape, dtypes=(torch.int64,)), st.integers(0, 19))


def subscript(inputs: Any, data: st.DataObject, x: Tensor) -> list[Any]:
    """Of integers, slices, None, Ellipsis, masks and tensors of indices, which stay on the CPU or move with x."""
    parts: list[Any] = []
    for side in x.shape[: data.draw(st.integers(0, x.dim()))]:
        kind = data.draw(st.integers(0, 5))
        if kind == 0:
            parts.append(data.draw(st.integers(-side, side)))
        elif kind == 1:
            bound = st.one_of(st.none(), st.integers(-side - 1, side + 1))
            parts.append(slice(data.draw(bound), data.draw(bound), data.draw(st.integers(1, 3))))
        elif kind == 2:
            parts += [None, slice(None)]
        elif kind == 3:
            parts.append(data.draw(inputs.tensors([side], dtypes=(torch.bool,))))
        else:
            parts.append(data.draw(indices(inputs, side)))
    if data.draw(st.integers(0, 3)) == 0:
        parts.insert(data.draw(st.integers(0, len(parts))), ...)
    return parts


@given(data=st.data())
def test_read(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors())
    parts = subscript(inputs, data, x)
    x.requires_grad_(x.is_floating_point() and data.draw(st.booleans()))
    same(lambda x, parts: x[tuple(parts)], x, parts)
    same(lambda x: x[tuple(parts)], x)


@given(data=st.data())
def test_write(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(overlapping=False))
    parts = subscript(inputs, data, x)
    try:
        shape = list(x[tuple(parts)].shape)
    except IndexError:
        shape = [1]
    value = data.draw(inputs.tensors(inputs.broadcastable(shape), special=False))
    number = data.draw(inputs.scalars)
    same(lambda x, parts, value: x.__setitem__(tuple(parts), value), x, parts, value)
    same(lambda x, value: x.__setitem__(tuple(parts), value), x, value)
    if number == number and abs(number) < 10:  # infinity and nan are no integers
        same(lambda x, parts: x.__setitem__(tuple(parts), number), x, parts)


@given(data=st.data())
def test_index_put(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(inputs.shapes(min_dims=1), overlapping=False))
    which = data.draw(indices(inputs, x.shape[0]))
    shape = [*which.shape, *x.shape[1:]]
    value = data.draw(inputs.tensors(inputs.broadcastable(shape), dtypes=(x.dtype,)))
    accumulate = data.draw(st.booleans())
    same(lambda x, which, value: x.index_put_((which,), value, accumulate=accumulate), x, which, value)
    same(lambda x, which, value: torch.index_put(x, (which,), value, accumulate=accumulate), x, which, value)


@given(data=st.data())
def test_index_functions(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(inputs.shapes(min_dims=1), overlapping=False))
    dim = data.draw(st.integers(-x.dim(), x.dim() - 1))
    which = data.draw(indices(inputs, x.shape[dim], inputs.shapes(max_dims=1, min_dims=1)))
    shape = [which.numel() if d == dim % x.dim() else side for d, side in enumerate(x.shape)]
    source = data.draw(inputs.tensors(shape, dtypes=(x.dtype,)))
    same(lambda x, which: torch.index_select(x, dim, which), x, which)
    same(lambda x, which, source: x.index_add_(dim, which, source, alpha=2), x, which, source)
    same(lambda x, which, source: torch.index_copy(x, dim, which, source), x, which, source)
    same(lambda x, which: x.index_fill_(dim, which, 3), x, which)
    same(lambda x, which: torch.take(x, which), x, which)
    same(lambda x, which, source: x.put_(which, source), x, which, source)
    same(lambda x, which: torch.nn.functional.embedding(which, x), x, which)


@given(data=st.data())
def test_masks(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(overlapping=False))
    mask = data.draw(inputs.tensors(inputs.broadcastable(x.shape), dtypes=(torch.bool,)))
    source = data.draw(inputs.tensors(inputs.shapes(max_dims=2), dtypes=(x.dtype,)))
    number = data.draw(inputs.scalars)
    same(torch.masked_select, x, mask)
    same(lambda x, mask: x.masked_fill(mask, number), x, mask)
    same(lambda x, mask: x.masked_fill_(mask, number), x, mask)
    same(lambda x, mask, source: x.masked_scatter_(mask, source), x, mask, source)
    same(lambda x, mask: x[mask], x, mask)
