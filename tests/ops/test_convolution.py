"""Convolution of every kind: CPU's own algorithms, so CPU's bits, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import torch_neuron_sim

Compare = Callable[..., Any]

F = torch.nn.functional
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
CHANNELS_LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def tensors(dims: int, groups: int, transposed: bool, size: int = 7, kernel: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(dims)
    x = torch.randn(2, 4, *[size] * dims, requires_grad=True)
    outputs = 6
    shape = (4, outputs // groups) if transposed else (outputs, 4 // groups)
    return x, torch.randn(*shape, *[kernel] * dims, requires_grad=True), torch.randn(outputs, requires_grad=True)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"groups": 2}], ids=str)
@pytest.mark.parametrize("transposed", [False, True], ids=["", "transposed"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_forward_and_backward(same_as_cpu: Compare, dims: int, transposed: bool, options: dict[str, int]) -> None:
    convolve = (TRANSPOSED if transposed else CONVOLUTIONS)[dims]
    x, weight, bias = tensors(dims, options.get("groups", 1), transposed)
    same_as_cpu(lambda x, w, b: convolve(x, w, b, **options), x, weight, bias)
    same_as_cpu(lambda x, w: convolve(x, w, **options), x, weight)
    same_as_cpu(lambda x, w, b: convolve(x[0], w, b, **options), x, weight, bias)  # without a batch


@pytest.mark.parametrize("dims", [2, 3])
def test_channels_last(same_as_cpu: Compare, dims: int) -> None:
    x, weight, bias = (t.detach() for t in tensors(dims, 1, False))
    for first in (x, x.contiguous(memory_format=CHANNELS_LAST[dims])):
        for second in (weight, weight.contiguous(memory_format=CHANNELS_LAST[dims])):
            same_as_cpu(CONVOLUTIONS[dims], first.requires_grad_(), second.requires_grad_(), bias)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.complex64], ids=str)
def test_dtypes(same_as_cpu: Compare, dtype: torch.dtype) -> None:
    arguments = [t.detach().to(dtype).requires_grad_() for t in tensors(2, 1, False)]
    same_as_cpu(F.conv2d, *arguments)
    same_as_cpu(F.conv_transpose2d, arguments[0], arguments[1].detach()[:4])


def test_integers(same_as_cpu: Compare) -> None:
    same_as_cpu(F.conv2d, torch.arange(50).reshape(1, 2, 5, 5), torch.arange(36).reshape(2, 2, 3, 3))


@pytest.mark.parametrize("mode", ["same", "valid"])
def test_named_padding(same_as_cpu: Compare, mode: str) -> None:
    x, weight, bias = tensors(2, 1, False, kernel=4)
    same_as_cpu(lambda x, w, b: F.conv2d(x, w, b, padding=mode, dilation=2), x, weight, bias)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_module_padding_modes(same_as_cpu: Compare, mode: str) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode=mode)
    weights = [parameter.detach() for parameter in layer.parameters()]

    def run(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    same_as_cpu(run, tensors(2, 1, False)[0], *weights)


@given(
    dims=st.integers(1, 2),
    batch=st.integers(0, 3),
    groups=st.integers(1, 3),
    channels=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    size=st.integers(1, 8),
    kernel=st.integers(1, 4),
    options=st.fixed_dictionaries(
        {"stride": st.integers(1, 3), "padding": st.integers(0, 3), "dilation": st.integers(1, 2)}
    ),
    transposed=st.booleans(),
)
def test_any_convolution(
    same_as_cpu: Compare,
    dims: int,
    batch: int,
    groups: int,
    channels: tuple[int, int],
    size: int,
    kernel: int,
    options: dict[str, int],
    transposed: bool,
) -> None:
    inputs, outputs = groups * channels[0], groups * channels[1]
    shape = (inputs, channels[1]) if transposed else (outputs, channels[0])
    x = torch.arange(float(batch * inputs * size**dims)).cos().reshape(batch, inputs, *[size] * dims)
    weight = torch.arange(float(shape[0] * shape[1] * kernel**dims)).sin().reshape(*shape, *[kernel] * dims)
    convolve = (TRANSPOSED if transposed else CONVOLUTIONS)[dims]

    def run(x: Tensor, weight: Tensor) -> Tensor:
        return convolve(x, weight, groups=groups, **options)

    x, weight = x.requires_grad_(), weight.requires_grad_()
    try:
        run(x, weight)
    except RuntimeError as error:
        with torch.no_grad(), pytest.raises(type(error)):
            run(x.to("neuron"), weight.to("neuron"))
    else:
        same_as_cpu(run, x, weight)


def test_second_derivative(same_as_cpu: Compare) -> None:
    def penalty(x: Tensor, weight: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(F.conv2d(x, weight).square().sum(), weight, create_graph=True)
        return gradient.square().sum()

    x, weight, _ = tensors(2, 1, False)
    same_as_cpu(penalty, x, weight)


def test_fold_and_unfold(same_as_cpu: Compare) -> None:
    x = torch.randn(2, 3, 6, 6, requires_grad=True)
    same_as_cpu(lambda x: F.fold(F.unfold(x, 2, stride=2) * 2, (6, 6), 2, stride=2), x)


def test_every_convolution_is_one_native_op() -> None:
    x, weight, bias = (t.detach().to("neuron") for t in tensors(2, 1, False))
    weight.requires_grad_()
    torch_neuron_sim.clear_op_tracking()
    F.conv2d(x, weight, bias).sum().backward()
    executed = torch_neuron_sim.get_executed_ops()
    assert executed[0] == "aten::convolution"
    assert "aten::convolution_backward" in executed
    assert torch_neuron_sim.get_fallback_ops() == []


def test_overrideable_forms_mean_the_ordinary_ones() -> None:
    x, weight, bias = (t.detach().to("neuron") for t in tensors(2, 1, False))
    arguments = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    expected = F.conv2d(x, weight, bias)
    assert torch.equal(torch.ops.aten.convolution_overrideable(x, weight, bias, *arguments), expected)
    gradients = torch.ops.aten.convolution_backward_overrideable(expected, x, weight, *arguments, [True] * 3)
    wanted = torch.ops.aten.convolution_backward(expected, x, weight, [6], *arguments, [True] * 3)
    assert all(torch.equal(one, other) for one, other in zip(gradients, wanted, strict=True))
