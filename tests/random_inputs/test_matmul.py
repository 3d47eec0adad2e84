"""Products of matrices, vectors and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

Same = Callable[..., None]


@given(data=st.data())
def test_matmul(same: Same, inputs: Any, data: st.DataObject) -> None:
    dtypes = (data.draw(st.sampled_from(inputs.ALL)),)
    rows, inner, columns = (data.draw(st.integers(0, 5)) for _ in range(3))
    batch = data.draw(inputs.shapes(max_dims=2, max_side=3))
    left = data.draw(st.sampled_from([[inner], [rows, inner], [*batch, rows, inner]]))
    right = data.draw(st.sampled_from([[inner], [inner, columns], [*batch[-1:], inner, columns], [columns]]))
    x, y = data.draw(inputs.tensors(left, dtypes=dtypes)), data.draw(inputs.tensors(right, dtypes=dtypes))
    if x.is_floating_point() and data.draw(st.booleans()):
        x.requires_grad_()
    same(torch.matmul, x, y)


@given(data=st.data())
def test_matrices(same: Same, inputs: Any, data: st.DataObject) -> None:
    dtypes = (data.draw(st.sampled_from(inputs.ALL)),)
    rows, inner, columns = (data.draw(st.integers(0, 5)) for _ in range(3))
    x, y = (
        data.draw(inputs.tensors([rows, inner], dtypes=dtypes)),
        data.draw(inputs.tensors([inner, columns], dtypes=dtypes)),
    )
    out = data.draw(inputs.tensors([rows, columns], dtypes=dtypes, overlapping=False))
    bias = data.draw(inputs.tensors(inputs.broadcastable([rows, columns]), dtypes=dtypes))
    beta, alpha = data.draw(st.sampled_from([0, 1, 2])), data.draw(st.sampled_from([0, 1, 3]))
    same(torch.mm, x, y)
    same(lambda x, y, out: torch.mm(x, y, out=out), x, y, out)
    same(lambda bias, x, y: torch.addmm(bias, x, y, beta=beta, alpha=alpha), bias, x, y)
    same(lambda out, x, y: out.addmm_(x, y, beta=beta, alpha=alpha), out, x, y)


@given(data=st.data())
def test_batches(same: Same, inputs: Any, data: st.DataObject) -> None:
    dtypes = (data.draw(st.sampled_from(inputs.ALL)),)
    batch, rows, inner, columns = (data.draw(st.integers(0, 4)) for _ in range(4))
    x = data.draw(inputs.tensors([batch, rows, inner], dtypes=dtypes))
    y = data.draw(inputs.tensors([batch, inner, columns], dtypes=dtypes))
    out = data.draw(inputs.tensors([batch, rows, columns], dtypes=dtypes, overlapping=False))
    same(torch.bmm, x, y)
    same(lambda out, x, y: out.baddbmm_(x, y), out, x, y)
    same(lambda x, y: torch.einsum("bij,bjk->bik", x, y), x, y)
    same(lambda x, y: torch.einsum("bij,bjk->i", x, y), x, y)


@given(data=st.data())
def test_vectors(same: Same, inputs: Any, data: st.DataObject) -> None:
    dtypes = (data.draw(st.sampled_from(inputs.ALL)),)
    rows, columns = (data.draw(st.integers(0, 5)) for _ in range(2))
    x, y = data.draw(inputs.tensors([rows], dtypes=dtypes)), data.draw(inputs.tensors([columns], dtypes=dtypes))
    matrix = data.draw(inputs.tensors([rows, columns], dtypes=dtypes, overlapping=False))
    same(torch.dot, x, y)
    same(torch.outer, x, y)
    same(torch.mv, matrix, y)
    same(lambda matrix, x, y: matrix.addr_(x, y), matrix, x, y)


@given(data=st.data())
def test_linear(same: Same, inputs: Any, data: st.DataObject) -> None:
    dtypes = (data.draw(st.sampled_from(inputs.FLOATS)),)
    columns, inner = (data.draw(st.integers(0, 5)) for _ in range(2))
    batch = data.draw(inputs.shapes(max_dims=3, max_side=3))
    x = data.draw(inputs.tensors([*batch, inner], dtypes=dtypes)).requires_grad_()
    weight = data.draw(inputs.tensors([columns, inner], dtypes=dtypes)).requires_grad_(data.draw(st.booleans()))
    bias = data.draw(st.one_of(st.none(), inputs.tensors([columns], dtypes=dtypes)))
    same(torch.nn.functional.linear, x, weight, bias)


@given(data=st.data())
def test_mixed_dtypes_and_shapes(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, y = data.draw(inputs.tensors()), data.draw(inputs.tensors())
    for function in (torch.matmul, torch.mm, torch.bmm, torch.mv, torch.dot, torch.nn.functional.linear):
        same(function, x, y)
