"""The float64 rule: dtype and storage stay float64, native operators compute in float32."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim import Float64Warning, float64_policy, get_fallback_ops, op_report

pytestmark = pytest.mark.usefixtures("silent")

THIRD = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64) / 3

# Native ops of every path, of two 1-D tensors.
FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda x, y: x + y,
    "mul by a number": lambda x, y: x * 3,
    "exp": lambda x, y: x.exp(),
    "sum": lambda x, y: x.sum(),
    "mm": lambda x, y: torch.outer(x, y) @ torch.outer(y, x),
    "softmax": lambda x, y: x.softmax(0),
    "where": lambda x, y: torch.where(x > 1, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y]),
    "index": lambda x, y: x[torch.tensor([2, 0], device=x.device)],
    "linear": lambda x, y: torch.nn.functional.linear(x[None], y[None]),
    "layer_norm": lambda x, y: torch.nn.functional.layer_norm(x, (3,)),
    "comparison": lambda x, y: x > y,
    "foreach": lambda x, y: torch._foreach_add([x, y], [y, x]),
    "max with indices": lambda x, y: x.max(0),
    "convolution": lambda x, y: torch.conv1d(x.view(1, 1, 3), y.view(1, 1, 3), padding=1),
}


def widened(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.double() if value.dtype == torch.float32 else value
    return type(value)(map(widened, value)) if type(value) in (list, tuple) else [widened(part) for part in value]


def assert_equal(found: Any, expected: Any) -> None:
    found, expected = ([value] if isinstance(value, Tensor) else list(value) for value in (found, expected))
    for one, other in zip(found, expected, strict=True):
        assert one.device.type == "neuron"
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert torch.equal(one.cpu(), other)


@pytest.fixture
def operands() -> Iterator[tuple[Tensor, Tensor]]:
    yield THIRD.to("neuron"), THIRD.flip(0).to("neuron")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_result_is_float64_with_the_value_of_float32(name: str, operands: tuple[Tensor, Tensor]) -> None:
    expected = widened(FUNCTIONS[name](THIRD.float(), THIRD.flip(0).float()))
    assert_equal(FUNCTIONS[name](*operands), expected)
    assert any(row.route == "float64" for row in op_report().rows)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_exact_computes_in_float64(name: str, operands: tuple[Tensor, Tensor]) -> None:
    with float64_policy("exact"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_equal(FUNCTIONS[name](*operands), FUNCTIONS[name](THIRD, THIRD.flip(0)))
    assert not any(row.route == "float64" for row in op_report().rows)


def test_in_place(operands: tuple[Tensor, Tensor]) -> None:
    x, y = operands
    pointer = x.data_ptr()
    assert x.add_(y) is x
    assert x.data_ptr() == pointer
    assert_equal(x, (THIRD.float() + THIRD.flip(0).float()).double())
    x.view(3, 1)[1:].mul_(7)
    assert x[0].item() == (THIRD.float() + THIRD.flip(0).float())[0].item()
    x[:1].zero_()
    assert x[0].item() == 0


def test_in_place_of_lists(operands: tuple[Tensor, Tensor]) -> None:
    x, y = operands
    torch._foreach_mul_([x, y], 3.0)
    assert_equal(x, (THIRD.float() * 3).double())
    assert_equal(y, (THIRD.flip(0).float() * 3).double())


@pytest.mark.parametrize("size", [3, 0, 1, 7])
def test_out(operands: tuple[Tensor, Tensor], size: int) -> None:
    x, y = operands
    out = torch.zeros(size, dtype=torch.float64, device="neuron")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "An output with one or more elements was resized")
        assert torch.add(x, y, out=out) is out
    assert_equal(out, (THIRD.float() + THIRD.flip(0).float()).double())


def test_out_that_is_an_input_or_strided(operands: tuple[Tensor, Tensor]) -> None:
    x, _ = operands
    expected = (THIRD.float() * 3).double()
    base = torch.zeros(3, 2, dtype=torch.float64, device="neuron")
    torch.mul(x, 3, out=base[:, 1])
    assert_equal(base[:, 1], expected)
    assert base[:, 0].tolist() == [0] * 3
    torch.mul(x, 3, out=x)
    assert_equal(x, expected)


def test_float64_out_of_float32_inputs_is_widened() -> None:
    x = THIRD.float().to("neuron")
    out = torch.empty(3, dtype=torch.float64, device="neuron")
    torch.mul(x, 3, out=out)
    assert_equal(out, (THIRD.float() * 3).double())


def test_tensors_of_no_dimension() -> None:
    x = torch.tensor(1 / 3, dtype=torch.float64)
    there = x.to("neuron")
    assert_equal(there * 3, (x.float() * 3).double())
    assert_equal(there + torch.ones(2, device="neuron"), x.float() + torch.ones(2))  # float32, as promotion says
    assert_equal(there + torch.arange(2, device="neuron"), (x.float() + torch.arange(2)).double())


def test_dtype_argument() -> None:
    x = THIRD.float()
    there = x.to("neuron")
    assert_equal(there.sum(dtype=torch.float64), x.sum().double())
    assert_equal(there.softmax(0, dtype=torch.float64), x.softmax(0).double())
    assert_equal(there.cumsum(0, dtype=torch.float64), x.cumsum(0).double())
    assert_equal(THIRD.to("neuron").sum(dtype=torch.float32), x.sum())
    assert_equal(
        torch.arange(3, device="neuron").mean(dtype=torch.float64), torch.arange(3).mean(dtype=torch.float32).double()
    )


def test_factories_and_copies_hold_true_float64() -> None:
    third = 1 / 3
    full = torch.full((2,), third, dtype=torch.float64, device="neuron")
    assert full.tolist() == [third] * 2
    assert torch.tensor([third], dtype=torch.float64, device="neuron").item() == third
    assert full.clone().cpu().tolist() == [third] * 2
    assert full.to("neuron:1").float().double().cpu().tolist() == [torch.tensor(third).item()] * 2
    assert torch.equal(THIRD.to("neuron").view(3, 1).t().contiguous().cpu(), THIRD[None])
    assert not any(row.route == "float64" for row in op_report().rows)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.digamma(), lambda x: x.cumprod(0), lambda x: torch.linalg.inv(torch.diag(x)), lambda x: x.frac_()],
)
def test_fallbacks_compute_in_float64(function: Callable[[Tensor], Tensor]) -> None:
    x = THIRD / 2
    expected = function(x.clone())
    assert not torch.equal(expected, function(x.float()).double())
    assert_equal(function(x.to("neuron")), expected)
    assert get_fallback_ops() != []


def test_values_beyond_float32_become_infinite(operands: tuple[Tensor, Tensor]) -> None:
    x = torch.tensor([1e300, -1e300, 1e-300], dtype=torch.float64, device="neuron")
    assert (x + 0).tolist() == [float("inf"), float("-inf"), 0]
    assert x.tolist() == [1e300, -1e300, 1e-300]


def test_warns_once_for_each_op(operands: tuple[Tensor, Tensor]) -> None:
    x, y = operands
    with float64_policy("warn"), pytest.warns(Float64Warning) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            x + y, x * y, x.add_(0)
    assert [str(warning.message).split()[0] for warning in caught] == [
        "aten::add.Tensor",
        "aten::mul.Tensor",
        "aten::add_.Tensor",
    ]


def test_silent_and_error(operands: tuple[Tensor, Tensor]) -> None:
    x, y = operands
    with float64_policy("silent"), warnings.catch_warnings():
        warnings.simplefilter("error")
        x + y
    with float64_policy("error"):
        for function in (
            lambda: x + y,
            lambda: x.mul_(2),
            lambda: torch.add(x, y, out=y),
            lambda: x.float().sum(dtype=x.dtype),
        ):
            with pytest.raises(RuntimeError, match=r"would compute float64 as float32.*float64 policy is 'error'"):
                function()
        x.clone(), x.cpu(), x.view(3, 1), x.float() + 1, x.digamma()
    assert_equal(x, THIRD)
    assert_equal(y, THIRD.flip(0))


def test_gradients_have_float64_with_the_values_of_float32() -> None:
    leaf = THIRD.to("neuron").requires_grad_()
    ((leaf * 3).exp() * leaf).sum().backward()
    reference = THIRD.float().requires_grad_()
    ((reference * 3).exp() * reference).sum().backward()
    assert leaf.grad is not None
    assert reference.grad is not None
    assert_equal(leaf.grad, reference.grad.double())


def test_dtype_errors_are_those_of_cpu() -> None:
    x, y = torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2)
    with pytest.raises(RuntimeError) as on_cpu:
        x @ y
    with pytest.raises(RuntimeError) as on_neuron:
        x.to("neuron") @ y.to("neuron")
    assert str(on_neuron.value) == str(on_cpu.value)


def test_calls_are_counted_as_native_and_as_float64(operands: tuple[Tensor, Tensor]) -> None:
    x, y = operands
    for _ in range(4):
        x.mul(y)
    counts = {(row.op, row.route): row.calls for row in op_report().rows}
    assert counts["aten::mul.Tensor", "native"] == counts["aten::mul.Tensor", "float64"] == 4
    (row,) = (row for row in op_report().rows if row.route == "float64")
    assert (row.bytes, row.reason) == (0, "float64 is computed as float32")
    assert row.sites[0].filename == __file__
