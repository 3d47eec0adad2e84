"""Native operators with a dtype that CPU's kernel lacks: computed in another one, which nobody sees.

tests/parity/test_native_dtypes.py has every operator; here is what a call may look like.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import torch_neuron_sim
from torch_neuron_sim import get_fallback_ops, op_report

INTEGRAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOAT8 = torch.float8_e5m2
NUMBERS = torch.tensor([[0, 1, 2, 3], [5, 1, 0, 7]])


@pytest.fixture(autouse=True)
def _without_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def assert_is(found: Tensor, expected: Tensor) -> None:
    assert found.device.type == "neuron"
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert torch.equal(found.cpu().double(), expected.double())


@pytest.mark.parametrize("dtype", INTEGRAL)
@pytest.mark.parametrize("function", [functional.gelu, functional.silu, functional.softplus])
def test_float_functions_of_integers(function: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
    x = NUMBERS.to(dtype)
    with pytest.raises(NotImplementedError):
        function(x)
    assert_is(function(x.to("neuron")), function(x.float()).to(dtype))


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_histc_counts_integers(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 1, 2, 7, 9, 9, 9], dtype=dtype)
    assert_is(
        torch.histc(x.to("neuron"), bins=5, min=0, max=9), torch.histc(x.double(), bins=5, min=0, max=9).to(dtype)
    )


def test_integers_beyond_24_bits_stay_exact_where_results_are_integers() -> None:
    x = torch.tensor([[2**40 + 1, 0], [2**30 + 1, 2**25 + 1]])
    target = torch.tensor([0, 1], device="neuron")
    assert functional.nll_loss(x.to("neuron"), target, reduction="none").tolist() == [-(2**40) - 1, -(2**25) - 1]
    assert torch.lerp(x.to("neuron"), x.to("neuron"), 0.5).tolist() == x.tolist()


def test_truth_values_do_not_wrap() -> None:
    ones = torch.ones(2, 256, dtype=torch.bool, device="neuron")
    assert (ones @ ones.t()).tolist() == [[True, True]] * 2
    assert torch.ones(256, dtype=torch.bool, device="neuron").cumsum(0, dtype=torch.bool).all()
    assert functional.linear(ones, ones).dtype == torch.bool


def test_what_is_cast_to_the_dtype_that_is_asked_for_loses_what_that_does_not_hold() -> None:
    x = torch.tensor([2, -2, 0, 2**32])
    assert x.to("neuron").cumsum(0, dtype=torch.bool).tolist() == [True] * 4
    assert torch.tensor([0, 2**32], device="neuron").cumsum(0, dtype=torch.bool).tolist() == [False, True]
    eighth = torch.tensor([1.126, 1.126]).to("neuron")  # 1.126 is 1.25 in float8_e5m2
    assert eighth.sum(dtype=FLOAT8).item() == 2.5


def test_integer_targets_stay_integers() -> None:
    x, target = NUMBERS, torch.tensor([3, 0])
    for dtype in INTEGRAL:
        found = functional.nll_loss(x.to("neuron", dtype), target.to("neuron"), reduction="none")
        assert_is(found, functional.nll_loss(x.double(), target, reduction="none").to(dtype))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x,
        lambda x: x * 3,
        lambda x: x.exp(),
        lambda x: x.sum(),
        lambda x: x.softmax(0),
        lambda x: x.t() @ x,
        lambda x: functional.layer_norm(x, x.shape[1:]),
        lambda x: functional.dropout(x, 0.0),
        lambda x: x.norm(),
        lambda x: torch.arange(4, device=x.device, dtype=x.dtype),
    ],
)
def test_float8_is_rounded_once(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.linspace(-3, 3, 12).reshape(3, 4).to(FLOAT8)
    assert_is(function(x.to("neuron")), function(x.float()).to(FLOAT8))


def test_comparisons_and_indices_of_float8() -> None:
    x = torch.tensor([[1.0, 3.0, 2.0]]).to(FLOAT8)
    there = x.to("neuron")
    assert_is(there > 1.5, x.float() > 1.5)
    assert there.max(1).indices.tolist() == [1]
    assert there.max(1).values.dtype == FLOAT8
    assert there.topk(2).indices.tolist() == [[1, 2]]
    assert torch.tensor([False, True], device="neuron").topk(1).indices.tolist() == [1]


def test_gradients_of_float8() -> None:
    leaf = torch.tensor([0.5, -1.0, 2.0]).to(FLOAT8).to("neuron").requires_grad_()
    functional.gelu(leaf * leaf).sum().backward()
    assert leaf.grad is not None
    square = (leaf.detach().cpu().float() ** 2).to(FLOAT8)
    inner = torch.ops.aten.gelu_backward(torch.ones(3), square.float()).to(FLOAT8)
    half = (inner.float() * leaf.detach().cpu().float()).to(FLOAT8)
    assert_is(leaf.grad, (half.float() + half.float()).to(FLOAT8))


def test_in_place() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(FLOAT8).to("neuron")
    pointer, version = x.data_ptr(), x._version
    assert x[::2].mul_(3) is not x
    assert x.add_(1) is x
    assert (x.data_ptr(), x._version) == (pointer, version + 2)
    assert x.tolist() == [4, 3, 8, 5]  # 9 is 8 in float8_e5m2
    integers = torch.tensor([3, 40], device="neuron")
    assert functional.silu(integers, inplace=True) is integers
    assert integers.tolist() == [2, 40]


@pytest.mark.parametrize("size", [0, 2, 5])
def test_out_of_any_size(size: int) -> None:
    x = torch.tensor([1.0, 2.0]).to(FLOAT8).to("neuron")
    out = torch.zeros(size, dtype=FLOAT8, device="neuron")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "An output with one or more elements was resized")
        assert torch.add(x, x, out=out) is out
    assert out.tolist() == [2, 4]


def test_out_that_is_an_input_strided_or_of_another_dtype() -> None:
    x = torch.tensor([1.25, 1.75]).to(FLOAT8).to("neuron")
    base = torch.zeros(2, 2, dtype=FLOAT8, device="neuron")
    torch.mul(x, x, out=base[:, 1])
    assert base.tolist() == [[0, 1.5], [0, 3]]
    wide = torch.zeros(2, device="neuron")
    assert torch.mul(x, x, out=wide) is wide
    assert wide.tolist() == [1.5, 3]  # as the product in float8 is
    torch.mul(x, x, out=x)
    assert x.tolist() == [1.5, 3]


def test_tensors_of_no_dimension_and_no_elements() -> None:
    number, empty = torch.tensor(1.5).to(FLOAT8), torch.empty(0, 3).to(FLOAT8)
    assert_is(number.to("neuron") + 1, torch.tensor(2.5).to(FLOAT8))
    assert_is(torch.ones(2, device="neuron", dtype=FLOAT8) + number, torch.tensor([2.5, 2.5]).to(FLOAT8))
    assert_is(empty.to("neuron") * 2, empty)
    assert_is(empty.to("neuron").sum(0), torch.zeros(3).to(FLOAT8))
    assert_is(functional.gelu(torch.tensor(3, device="neuron")), torch.tensor(2))


def test_layouts() -> None:
    x = NUMBERS.to(torch.int32).to("neuron")
    for view in (x.t(), x[:, ::2], x[0].expand(3, 4)):
        assert_is(functional.gelu(view), functional.gelu(view.cpu().float()).int())


def test_lists_with_several_dtypes_are_written_once() -> None:
    first, second = torch.ones(2, device="neuron"), torch.ones(2, device="neuron", dtype=FLOAT8)
    torch._foreach_add_([first, second], 1.0)
    assert (first.tolist(), second.tolist()) == ([2, 2], [2, 2])
    found = torch._foreach_mul([first, second], 2.0)
    assert [each.dtype for each in found] == [torch.float32, FLOAT8]


def test_dtypes_that_promote_to_one_that_cpu_has_are_left_to_it() -> None:
    ones, numbers = torch.ones(2, dtype=torch.bool), torch.tensor([7, 8], dtype=torch.int8)
    assert_is(torch.remainder(numbers.to("neuron"), ones.to("neuron")), torch.remainder(numbers, ones))
    assert_is(ones.to("neuron").clamp(max=2), ones.clamp(max=2))
    grad, x = torch.ones(2), torch.tensor([1, 2])
    found = torch.ops.aten.gelu_backward(grad.to("neuron"), x.to("neuron"))
    assert_is(found, torch.ops.aten.gelu_backward(grad, x))
    both = torch.ops.aten.gelu_backward(x.to("neuron", torch.int32), x.to("neuron"))
    assert both.dtype == torch.int64


@pytest.mark.parametrize(
    "function",
    [
        lambda device: torch.ones(2, dtype=FLOAT8, device=device) + torch.ones(2, device=device),
        lambda device: torch.ones(2, 2, dtype=torch.bool, device=device) @ torch.ones(2, 2, device=device).int(),
        lambda device: -torch.ones(2, dtype=torch.bool, device=device),
        lambda device: torch.ones(2, device=device) & torch.ones(2, device=device),
        lambda device: torch.ones(2, dtype=FLOAT8, device=device) & torch.ones(2, dtype=FLOAT8, device=device),
        lambda device: functional.nll_loss(NUMBERS.to(device).float(), torch.tensor([9, 0], device=device)),
        lambda device: torch.cumsum(NUMBERS.bool().to(device), 5, dtype=torch.bool),
        lambda device: torch.arange(2, dtype=torch.bool, device=device),
        lambda device: torch.mean(NUMBERS.to(device)),
    ],
)
def test_refusals_are_those_of_cpu(function: Callable[[str], Tensor]) -> None:
    with pytest.raises(Exception) as on_cpu:
        function("cpu")
    with pytest.raises(type(on_cpu.value)):
        function("neuron")


def test_counted_as_native_without_a_warning() -> None:
    with torch_neuron_sim.fallback_policy("error"), torch_neuron_sim.float64_policy("error"):
        functional.gelu(NUMBERS.to("neuron")), torch.histc(NUMBERS.to("neuron"))
    counts = {(row.op, row.route): row.calls for row in op_report().rows}
    assert counts["aten::gelu", "native"] == counts["aten::histc", "native"] == 1
    assert get_fallback_ops() == []


def test_converted_copies_are_not_device_memory() -> None:
    x = torch.ones(1 << 20, dtype=FLOAT8, device="neuron")
    torch.accelerator.reset_peak_memory_stats()
    before = torch.accelerator.memory_stats()["allocated_bytes.all.current"]
    y = x.exp()
    peak = torch.accelerator.memory_stats()["allocated_bytes.all.peak"]
    assert peak - before == y.nbytes == 1 << 20
    assert torch.neuron.scratch_stats()["current"] == 0


def test_fallbacks_refuse_what_cpu_refuses() -> None:
    with warnings.catch_warnings(), pytest.raises(NotImplementedError):
        warnings.simplefilter("ignore")
        torch.ones(2, dtype=FLOAT8, device="neuron").digamma()
