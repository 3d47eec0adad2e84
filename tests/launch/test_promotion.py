"""Result dtypes: for all pairs, and for tensors of no dimension and Python numbers, what CPU PyTorch gives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch.testing._internal.common_dtype import all_types_and_complex_and

import torch_neuron_sim

Compare = Callable[..., Any]

DTYPES = all_types_and_complex_and(torch.bool, torch.float16, torch.bfloat16)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add,
    "mul": torch.mul,
    "div": torch.div,
    "eq": torch.eq,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "atan2": torch.atan2,
    "where": lambda x, y: torch.where(y != 0, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "floor_divide": torch.floor_divide,
    "bitwise_or": torch.bitwise_or,
}


@pytest.fixture(autouse=True)
def _true_float64() -> Iterator[None]:
    with torch_neuron_sim.float64_policy("exact"):
        yield


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The dtype of the result, or the type and first line of the error."""
    try:
        return function(*arguments).dtype
    except (RuntimeError, TypeError) as error:
        return type(error), str(error).splitlines()[0]


def agree(found: Any, expected: Any) -> bool:
    """The same; or a result where CPU's kernel lacks the dtype, which tests/parity/test_native_dtypes.py looks at."""
    lacks = isinstance(expected, tuple) and expected[0] is NotImplementedError and "not implemented for" in expected[1]
    return found == expected or (lacks and isinstance(found, torch.dtype))


@pytest.mark.parametrize("name", BINARY)
def test_table_of_all_pairs_equals_that_of_cpu(name: str) -> None:
    function = BINARY[name]
    for first, second in product(DTYPES, DTYPES):
        for x_shape, y_shape in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
            if name == "cat" and not (x_shape and y_shape):
                continue
            x, y = torch.ones(x_shape, dtype=first), torch.ones(y_shape, dtype=second)
            expected = outcome(function, x, y)
            assert agree(outcome(function, x.to("neuron"), y.to("neuron")), expected), (first, second, x_shape, y_shape)
            if x_shape and not y_shape:
                assert agree(outcome(function, x.to("neuron"), y), expected), (first, second, "host scalar")


@pytest.mark.parametrize(
    "function",
    [
        operator.add,
        operator.mul,
        operator.truediv,
        operator.eq,
        operator.pow,
        operator.floordiv,
        operator.or_,
        operator.lshift,
        lambda x, y: torch.where(torch.tensor(True), x, y),
    ],
)
def test_python_numbers(function: Callable[[Any, Any], Any]) -> None:
    for dtype, number, shape in product(DTYPES, (True, 3, 2.5, 1 + 1j), ((2,), ())):
        x = torch.ones(shape, dtype=dtype)
        assert agree(outcome(function, x.to("neuron"), number), outcome(function, x, number)), (dtype, number, shape)
        assert agree(outcome(function, number, x.to("neuron")), outcome(function, number, x)), (number, dtype, shape)


@pytest.mark.parametrize("name", ["add_", "mul_", "div_", "pow_", "copy_", "fill_"])
def test_in_place_casts_what_cpu_casts(name: str) -> None:
    for first, second in product(DTYPES, DTYPES):
        operands = torch.ones(2, dtype=first), torch.ones((), dtype=second)

        def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return getattr(x, name)(y)

        found = outcome(function, *(t.to("neuron") for t in operands))
        assert agree(found, outcome(function, *operands)), (first, second)


@pytest.mark.parametrize(
    "function",
    [torch.sum, torch.mean, torch.prod, torch.cumsum, torch.exp, torch.sqrt, torch.neg, torch.abs, torch.max],
    ids=lambda function: function.__name__,
)
def test_unary_and_reductions(function: Callable[..., Any]) -> None:
    for dtype in DTYPES:
        arguments = (0,) if function is torch.cumsum else ()
        x = torch.ones(3, dtype=dtype)
        assert agree(outcome(function, x.to("neuron"), *arguments), outcome(function, x, *arguments)), dtype


def test_default_dtype_decides_for_integers_with_floats() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        x = torch.arange(3, device="neuron")
        results = (x + 0.5, x / 2, x.sqrt(), torch.ones(1, device="neuron"))
        assert {result.dtype for result in results} == {torch.float64}
    finally:
        torch.set_default_dtype(torch.float32)


def test_values_of_mixed_pairs(same_as_cpu: Compare) -> None:
    for first, second in product(DTYPES, DTYPES):
        x, y = torch.tensor([0, 1, 2, 3]).to(first), torch.tensor([3, 2, 1, 1]).to(second)
        same_as_cpu(lambda x, y: [x + y, x * y, x / y, x == y], x, y)
