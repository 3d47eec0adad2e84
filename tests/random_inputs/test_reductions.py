"""Reductions, scans and sorting, along any dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

Same = Callable[..., None]

OVER_DIMS = ["sum", "mean", "amax", "amin", "nansum", "logsumexp", "count_nonzero", "std", "var", "norm", "all", "any"]
OVER_ONE = ["prod", "argmax", "argmin", "max", "min", "median", "mode", "nanmedian", "all", "any"]
SCANS = ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "sort", "argsort"]
WHOLE = [
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "all",
    "any",
    "argmax",
    "argmin",
    "std",
    "var",
    "median",
    "unique",
    "norm",
]


@given(data=st.data())
def test_over_dimensions(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x = data.draw(st.sampled_from(OVER_DIMS)), data.draw(inputs.tensors())
    dims = data.draw(st.lists(st.integers(-x.dim(), x.dim()), max_size=x.dim(), unique=True))
    keepdim = {} if name == "count_nonzero" else {"keepdim": data.draw(st.booleans())}
    same(lambda x: getattr(torch, name)(x, dim=dims, **keepdim), x)


@given(data=st.data())
def test_over_one_dimension(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x = data.draw(st.sampled_from(OVER_ONE)), data.draw(inputs.tensors())
    dim, keepdim = data.draw(st.integers(-x.dim(), x.dim())), data.draw(st.booleans())
    same(lambda x: getattr(torch, name)(x, dim=dim, keepdim=keepdim), x)


@given(data=st.data())
def test_of_everything(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x = data.draw(st.sampled_from(WHOLE)), data.draw(inputs.tensors())
    same(getattr(torch, name), x)


@given(data=st.data())
def test_to_a_dtype_and_into_out(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x = data.draw(st.sampled_from(["sum", "mean", "nansum"])), data.draw(inputs.tensors(special=False))
    dim, dtype = data.draw(st.integers(-1, 1)), data.draw(st.sampled_from(inputs.ALL))
    same(lambda x: getattr(torch, name)(x, dim=dim, dtype=dtype), x)
    out = data.draw(inputs.tensors(inputs.shapes(max_dims=2), dtypes=(dtype,)))
    same(lambda x, out: getattr(torch, name)(x, dim=dim, out=out), x, out)


@given(data=st.data())
def test_scans_and_sorts(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x = data.draw(st.sampled_from(SCANS)), data.draw(inputs.tensors())
    dim = data.draw(st.integers(-x.dim(), x.dim()))
    same(lambda x: getattr(torch, name)(x, dim=dim), x)


@given(data=st.data())
def test_choices_of_largest(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors())
    dim, k, largest = data.draw(st.integers(-x.dim(), x.dim())), data.draw(st.integers(0, 4)), data.draw(st.booleans())
    same(lambda x: torch.topk(x, k, dim=dim, largest=largest), x)
    same(lambda x: torch.kthvalue(x, k, dim=dim), x)


@given(data=st.data())
def test_unique_and_counts(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(special=False))
    dim = data.draw(st.one_of(st.none(), st.integers(-x.dim(), x.dim())))
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True, dim=dim), x)
    same(torch.nonzero, x)
    same(torch.bincount, data.draw(inputs.tensors(inputs.shapes(max_dims=2), dtypes=inputs.INTEGERS)))


@given(data=st.data())
def test_gradients(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["sum", "mean", "amax", "logsumexp", "softmax", "cumsum", "std", "prod", "norm"]))
    x = data.draw(inputs.tensors(dtypes=inputs.FLOATS)).requires_grad_()
    dim = data.draw(st.integers(-x.dim(), x.dim()))
    same(lambda x: getattr(torch, name)(x, dim=dim), x)
