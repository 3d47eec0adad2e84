"""Functions of two tensors, or of a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Same = Callable[..., None]

ARITHMETIC = [
    *("add", "sub", "mul", "div", "pow", "remainder", "fmod", "floor_divide", "maximum", "minimum", "atan2"),
    *("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "hypot", "copysign", "fmin", "fmax", "xlogy", "nextafter", "true_divide", "float_power"),
]
IN_PLACE = [name for name in ARITHMETIC if name not in ("maximum", "minimum", "fmin", "fmax")]
WITH_SCALARS = [
    *("add", "sub", "mul", "div", "pow", "remainder", "fmod", "floor_divide", "eq", "ne", "lt", "le", "gt", "ge"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "xlogy", "rsub"),
]
REFLECTED = ["__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rpow__", "__rmod__", "__rfloordiv__"]


def pair(inputs: Any, data: st.DataObject) -> tuple[Tensor, Tensor]:
    x = data.draw(inputs.tensors())
    dtypes = data.draw(st.sampled_from([(x.dtype,), inputs.ALL]))
    return x, data.draw(inputs.tensors(inputs.broadcastable(x.shape), dtypes=dtypes))


@given(data=st.data())
def test_functional(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ARITHMETIC))
    x, y = pair(inputs, data)
    x, y = (x, y) if data.draw(st.booleans()) else (y, x)
    same(getattr(torch, name), x, y)


@given(data=st.data())
def test_in_place(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(IN_PLACE))
    same(lambda x, y: getattr(x, name + "_")(y), *pair(inputs, data))


@given(data=st.data())
def test_in_place_with_a_view_of_itself(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["add_", "mul_", "atan2_", "copy_", "eq_"]))
    x = data.draw(inputs.tensors(inputs.shapes(min_dims=1)))
    start, step = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 2))
    same(lambda x: getattr(x, name)(x), x)
    same(lambda x: getattr(x[: x.shape[0] - start], name)(x[start::step]), x)


@given(data=st.data())
def test_out(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ARITHMETIC))
    x, y = pair(inputs, data)
    try:
        shape = torch.broadcast_tensors(x, y)[0].shape
    except RuntimeError:
        shape = x.shape
    resizes = data.draw(st.integers(0, 3)) == 0
    out = data.draw(inputs.tensors([0] if resizes else shape))
    same(lambda x, y, out: getattr(torch, name)(x, y, out=out), x, y, out)


@given(data=st.data())
def test_scalars(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x, number = (data.draw(s) for s in (st.sampled_from(WITH_SCALARS), inputs.tensors(), inputs.scalars))
    same(lambda x: getattr(torch, name)(x, number), x)
    if name != "rsub":
        same(lambda x: getattr(x, name + "_")(number), x)


@given(data=st.data())
def test_reflected_operators(same: Same, inputs: Any, data: st.DataObject) -> None:
    name, x, number = (data.draw(s) for s in (st.sampled_from(REFLECTED), inputs.tensors(), inputs.scalars))
    same(lambda x: getattr(x, name)(number), x)


@given(data=st.data())
def test_cpu_scalar_tensors(same: Same, inputs: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ARITHMETIC))
    x, number = data.draw(inputs.tensors(inputs.shapes(min_dims=1))), data.draw(inputs.tensors([]))
    same(lambda x: getattr(torch, name)(x, number), x)
    same(lambda x: getattr(torch, name)(number, x), x)


@given(data=st.data())
def test_options(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, y = pair(inputs, data)
    alpha, mode = data.draw(inputs.scalars), data.draw(st.sampled_from(["floor", "trunc", None, "up"]))
    same(lambda x, y: torch.add(x, y, alpha=alpha), x, y)
    same(lambda x, y: torch.div(x, y, rounding_mode=mode), x, y)
    same(lambda x, y: torch.lerp(x, y, alpha), x, y)


@given(data=st.data())
def test_three_tensors(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, y = pair(inputs, data)
    z = data.draw(inputs.tensors(inputs.broadcastable(x.shape), dtypes=(x.dtype,)))
    condition = data.draw(inputs.tensors(inputs.broadcastable(x.shape), dtypes=(torch.bool,)))
    number = data.draw(inputs.scalars)
    same(lambda c, x, y: torch.where(c, x, y), condition, x, y)
    same(lambda c, x: torch.where(c, x, number), condition, x)
    same(lambda x, y, z: torch.addcmul(x, y, z, value=2), x, y, z)
    same(lambda x, y, z: x.addcdiv_(y, z), x, y, z)
    same(lambda x, y, z: torch.clamp(x, y, z), x, y, z)
