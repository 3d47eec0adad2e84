"""Functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

Same = Callable[..., None]

NAMES = [
    *("abs", "neg", "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "reciprocal", "sin", "cos", "floor"),
    *("ceil", "round", "trunc", "sign", "square", "erf", "logical_not", "bitwise_not", "lgamma", "digamma", "frac"),
    *("expm1", "log1p", "log2", "exp2", "acos", "atan", "sinh", "angle", "sgn", "nan_to_num", "i0", "erfinv"),
]
WITHOUT_OUT = ["relu"]
ALLOCATING = [
    "clone",
    "contiguous",
    "isnan",
    "isfinite",
    "signbit",
    "zeros_like",
    "ones_like",
    "flatten",
    "conj_physical",
]
ACTIVATIONS = ["gelu", "silu", "elu", "leaky_relu", "softplus", "hardtanh", "hardswish", "logsigmoid", "mish"]


@given(data=st.data())
def test_functional(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    same(getattr(torch, name), data.draw(inputs.tensors()))


@given(data=st.data())
def test_in_place(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    same(lambda x: getattr(x, name + "_")(), data.draw(inputs.tensors()))


@given(data=st.data())
def test_out(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in NAMES if name not in WITHOUT_OUT]))
    x = data.draw(inputs.tensors())
    resizes = data.draw(st.integers(0, 3)) == 0
    out = data.draw(inputs.tensors([0] if resizes else x.shape))
    same(lambda x, out: getattr(torch, name)(x, out=out), x, out)


@given(data=st.data())
def test_allocating(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ALLOCATING))
    function = getattr(torch, name, None) or getattr(torch.Tensor, name)
    same(function, data.draw(inputs.tensors()))


@given(data=st.data())
def test_activations(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ACTIVATIONS))
    x = data.draw(inputs.tensors(dtypes=inputs.FLOATS))
    same(getattr(torch.nn.functional, name), x.requires_grad_(data.draw(st.booleans())))


@given(data=st.data())
def test_conversions(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(special=False))
    dtype, copy = data.draw(st.sampled_from(inputs.ALL)), data.draw(st.booleans())
    formats = [torch.preserve_format, torch.contiguous_format, torch.channels_last]
    memory_format = data.draw(st.sampled_from(formats))
    same(lambda x: x.to(dtype, copy=copy, memory_format=memory_format), x)


@given(data=st.data())
def test_host_values(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(special=False))
    same(lambda x: [x.tolist(), x.is_contiguous(), x.is_non_overlapping_and_dense()], x)
    same(lambda x: x.item(), x)
    same(lambda x: bool(x), x)
