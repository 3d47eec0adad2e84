"""cat, stack and what takes tensors apart or repeats them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

Same = Callable[..., None]


@given(data=st.data())
def test_cat(same: Same, inputs: Any, data: st.DataObject) -> None:
    shape = data.draw(inputs.shapes(min_dims=1))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    parts = []
    for _ in range(data.draw(st.integers(0, 4))):
        sides = list(shape)
        sides[dim] = data.draw(st.integers(0, 4))
        # An empty vector is skipped, whatever the dimension; a wrong side raises.
        odd = data.draw(st.integers(0, 11))
        sides = [0] if odd == 0 else [side + 1 for side in sides] if odd == 1 else sides
        parts.append(
            data.draw(inputs.tensors(sides, dtypes=data.draw(st.sampled_from([inputs.ALL, (torch.float32,)]))))
        )
    same(lambda parts: torch.cat(parts, dim), parts)
    out = data.draw(inputs.tensors(inputs.shapes(max_dims=2), overlapping=False))
    same(lambda parts, out: torch.cat(parts, dim, out=out), parts, out)


@given(data=st.data())
def test_stack(same: Same, inputs: Any, data: st.DataObject) -> None:
    shape = data.draw(inputs.shapes(max_dims=3))
    one_dtype = data.draw(st.sampled_from([inputs.ALL, (torch.float32,)]))
    parts = data.draw(st.lists(inputs.tensors(shape, dtypes=one_dtype), max_size=3))
    dim = data.draw(st.integers(-len(shape) - 1, len(shape) + 1))
    same(lambda parts: torch.stack(parts, dim), parts)
    same(torch.hstack, parts)
    same(torch.vstack, parts)


@given(data=st.data())
def test_gradient_of_joining(same: Same, inputs: Any, data: st.DataObject) -> None:
    shape = data.draw(inputs.shapes(min_dims=1, max_dims=3))
    parts = data.draw(st.lists(inputs.tensors(shape, dtypes=inputs.FLOATS), min_size=1, max_size=3))
    leaves = [part.requires_grad_() for part in parts]
    same(lambda parts: [torch.cat(parts), torch.stack(parts, -1)], leaves)


@given(data=st.data())
def test_repeats(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(inputs.shapes(max_dims=3, max_side=3)))
    times = data.draw(st.lists(st.integers(0, 3), max_size=4))
    dims = data.draw(st.lists(st.integers(-x.dim(), max(x.dim() - 1, 0)), max_size=3))
    shifts = data.draw(st.lists(st.integers(-4, 4), min_size=len(dims), max_size=len(dims)))
    same(lambda x: x.repeat(times), x)
    same(lambda x: torch.tile(x, times), x)
    same(lambda x: x.repeat_interleave(2, dims[0] if dims else None), x)
    same(lambda x: x.flip(dims), x)
    same(lambda x: x.roll(shifts, dims), x)
    same(lambda x: torch.tril(x, shifts[0] if shifts else 0), x)
    same(lambda x: torch.nn.functional.pad(x, times), x)


@given(data=st.data())
def test_parts(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors())
    dim, size = data.draw(st.integers(-x.dim(), max(x.dim() - 1, 0))), data.draw(st.integers(0, 4))
    side = x.shape[dim] if x.dim() else 1
    first = data.draw(st.integers(0, side))
    sizes = data.draw(st.sampled_from([[first, side - first], [first, 0, side]]))
    same(lambda x: x.split(size, dim), x)
    same(lambda x: x.split(sizes, dim), x)
    same(lambda x: x.chunk(size, dim), x)
    same(lambda x: x.tensor_split(size, dim), x)
    same(lambda x: x.unbind(dim), x)
