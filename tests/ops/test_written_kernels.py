"""The kernels that exist only here, since PyTorch has no CPU kernel: recurrent cells, linear and RMS norm gradients,
SyncBatchNorm's parts (attention has a file of its own). CPU is the reference: the bits, where it does the same
arithmetic.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import torch_neuron_sim  # noqa: F401

SameAsCpu = Callable[..., Any]

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def randn(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = True) -> Tensor:
    return torch.randn(*shape, dtype=dtype).requires_grad_(grad)


# Recurrent layers


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("rows", "inputs", "hidden"), [(1, 8, 8), (3, 10, 20), (32, 64, 64), (64, 300, 257)])
def test_cells_without_bias_have_the_bits_of_cpu(
    same_as_cpu: SameAsCpu, rows: int, inputs: int, hidden: int, dtype: torch.dtype
) -> None:
    x, h, c = (randn(rows, n, dtype=dtype) for n in (inputs, hidden, hidden))
    for cell, gates in (("lstm", 4), ("gru", 3)):
        w_ih, w_hh = (randn(gates * hidden, n, dtype=dtype) for n in (inputs, hidden))
        if cell == "lstm":
            same_as_cpu(lambda x, h, c, w_ih, w_hh: torch.lstm_cell(x, (h, c), w_ih, w_hh), x, h, c, w_ih, w_hh)
        else:
            same_as_cpu(torch.gru_cell, x, h, w_ih, w_hh)


Outputs = list[Tensor]


def flat(value: Any) -> Outputs:
    if isinstance(value, PackedSequence):
        return [value.data]
    return [value] if isinstance(value, Tensor) else [tensor for item in value for tensor in flat(item)]


def train(module: nn.Module, device: str, run: Callable[[nn.Module, Any], Any], x: Tensor) -> tuple[Outputs, Outputs]:
    """Outputs, and the gradients of the input and the parameters, on the CPU."""
    module = copy.deepcopy(module).to(device)
    leaf = x.detach().to(device).requires_grad_()
    outputs = flat(run(module, leaf))
    loss = torch.stack([(out * torch.arange(out.numel(), device=device).view_as(out).cos()).sum() for out in outputs])
    loss.sum().backward()
    grads = [leaf.grad, *(p.grad for p in module.parameters())]
    assert all(grad is not None for grad in grads)
    return [out.detach().cpu() for out in outputs], [grad.cpu() for grad in grads if grad is not None]


def assert_trains_as_on_cpu(module: nn.Module, run: Callable[[nn.Module, Any], Any], x: Tensor) -> None:
    # Not bits: CPU adds the biases inside its matrix products, which sum in another order, takes oneDNN's own LSTM for
    # whole sequences, and multiplies a sequence's inputs by the weights in one product instead of step by step.
    found, expected = (train(module, device, run, x) for device in ("neuron", "cpu"))
    torch.testing.assert_close(found[0], expected[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[1], expected[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell])
@pytest.mark.parametrize("given_state", [True, False])
def test_cell_modules(cell: type[nn.LSTMCell | nn.GRUCell], bias: bool, given_state: bool) -> None:
    state = torch.randn(3, 7)

    def run(module: nn.Module, x: Tensor) -> Any:
        own = state.to(x.device)
        return module(x, ((own, own.sin()) if cell is nn.LSTMCell else own) if given_state else None)

    assert_trains_as_on_cpu(cell(5, 7, bias=bias), run, torch.randn(3, 5))


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": False},
        {"num_layers": 3},
        {"bidirectional": True},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"proj_size": 3},
        {"proj_size": 3, "num_layers": 2, "bidirectional": True},
    ],
    ids=str,
)
def test_layers(layer: type[nn.LSTM | nn.GRU], options: dict[str, Any]) -> None:
    if layer is nn.GRU and "proj_size" in options:
        pytest.skip("projections exist for LSTM only")
    assert_trains_as_on_cpu(layer(5, 8, **options), lambda module, x: module(x), torch.randn(4, 6, 5))


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences(layer: type[nn.LSTM | nn.GRU], bidirectional: bool) -> None:
    def run(module: nn.Module, x: Tensor) -> Any:
        return module(pack_padded_sequence(x, [6, 4, 4, 1]))

    assert_trains_as_on_cpu(layer(5, 8, num_layers=2, bidirectional=bidirectional), run, torch.randn(6, 4, 5))


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell])
def test_cells_have_second_gradients(cell: type[nn.LSTMCell | nn.GRUCell]) -> None:
    def run(module: nn.Module, x: Tensor) -> Any:
        output = flat(module(x))[0]
        (grad,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
        return grad

    assert_trains_as_on_cpu(cell(5, 7), run, torch.randn(3, 5))


def test_cells_refuse_wrong_gates() -> None:
    gates, state = torch.randn(2, 8, device="neuron"), torch.randn(2, 2, device="neuron")
    with pytest.raises(RuntimeError, match="only input_bias was given"):
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates, state, gates[0])
    with pytest.raises(RuntimeError, match="previous state must have size"):
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates, state[:1])


# Linear and RMS norm


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("leading", [(), (1,), (64,), (0,), (8, 32), (2, 3, 7)], ids=str)
def test_linear(same_as_cpu: SameAsCpu, leading: tuple[int, ...], dtype: torch.dtype) -> None:
    for (inputs, outputs), bias in itertools.product([(5, 3), (64, 48), (1, 3)], [True, False]):
        x, weight = randn(*leading, inputs, dtype=dtype), randn(outputs, inputs, dtype=dtype)
        transposed = torch.randn(inputs, outputs, dtype=dtype).t().requires_grad_()
        arguments = (randn(outputs, dtype=dtype),) if bias else ()
        same_as_cpu(F.linear, x, weight, *arguments)
        same_as_cpu(F.linear, x, transposed, *arguments)
        same_as_cpu(F.linear, x.detach(), weight, *arguments)
        same_as_cpu(F.linear, x, weight.detach(), *arguments)
        same_as_cpu(lambda *a: F.linear(*a).sum(), x, weight, *arguments)
        if leading:
            other = torch.randn(inputs, *leading, dtype=dtype).movedim(0, -1).requires_grad_()
            same_as_cpu(F.linear, other, weight, *arguments)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_linear_of_complex_numbers(same_as_cpu: SameAsCpu, dtype: torch.dtype) -> None:
    """Gradients of complex numbers are conjugated; CPU has them through the decomposition of linear."""
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(shape, dtype=dtype, generator=generator) for shape in ((5, 3), (4, 3), (4,)))

    def run(*arguments: torch.Tensor) -> list[torch.Tensor]:
        leaves = [each.detach().requires_grad_() for each in arguments]
        result = torch.nn.functional.linear(*leaves)
        first = torch.autograd.grad(result, leaves, torch.full_like(result, 1 - 2j), create_graph=True)
        second = torch.autograd.grad(first[0].sum(), leaves[1], torch.tensor(1j, device=result.device, dtype=dtype))
        return [result, torch.nn.functional.linear(leaves[0].conj(), *leaves[1:]), *first, *second]

    same_as_cpu(run, x, weight, bias)


def test_linear_with_a_vector_as_weight(same_as_cpu: SameAsCpu) -> None:
    for shape in ((5,), (4, 5), (2, 4, 5)):
        same_as_cpu(F.linear, randn(*shape), randn(5))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("shape", "normalized"), [((4, 6, 8), 1), ((4, 6, 8), 2), ((8,), 1), ((64, 300), 1), ((0, 8), 1)], ids=str
)
@pytest.mark.parametrize("eps", [None, 1e-5])
def test_rms_norm(
    same_as_cpu: SameAsCpu, shape: tuple[int, ...], normalized: int, dtype: torch.dtype, eps: float | None
) -> None:
    sizes = shape[len(shape) - normalized :]
    x, weight = randn(*shape, dtype=dtype), randn(*sizes, dtype=dtype)

    def norm(x: Tensor, weight: Tensor | None = None) -> Tensor:
        return F.rms_norm(x, sizes, weight, eps)

    same_as_cpu(norm, x, weight)
    same_as_cpu(norm, x)
    same_as_cpu(norm, x.detach(), weight)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rms_norm_statistics(dtype: torch.dtype) -> None:
    x = torch.randn(4, 6, 8, dtype=dtype)
    output, rstd = torch.ops.aten._fused_rms_norm(x.to("neuron"), [6, 8], None, 1e-5)
    assert (output.dtype, rstd.dtype, rstd.shape) == (dtype, torch.float32, (4, 1, 1))
    expected = (x.double().square().mean((1, 2), keepdim=True) + 1e-5).rsqrt()
    torch.testing.assert_close(rstd.cpu().double(), expected, rtol=1e-6, atol=0)


# The parts of SyncBatchNorm. CPU has none of them: the reference is batch_norm in float64 over all workers' rows.

TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2}  # a few roundings of values near 4


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(8, 5), (4, 5, 6), (4, 5, 3, 2)], ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
def test_sync_batch_norm(shape: tuple[int, ...], dtype: torch.dtype, channels_last: bool) -> None:
    if channels_last and len(shape) != 4:
        pytest.skip("channels_last is for 4-D tensors")
    eps, momentum = 1e-3, 0.1
    layout = torch.channels_last if channels_last else torch.contiguous_format
    workers = [torch.randn(rows, *shape[1:], dtype=dtype).add(1).to(memory_format=layout) for rows in (shape[0], 3)]
    weight, bias, running_mean, running_var = torch.rand(4, 5).unbind()
    grads = [torch.randn_like(x) for x in workers]

    reference = torch.cat(workers).double().requires_grad_()
    parameters = [p.double().requires_grad_() for p in (weight, bias)]
    running = [running_mean.double(), running_var.double()]
    expected = F.batch_norm(
        reference, running[0], running[1], parameters[0], parameters[1], training=True, momentum=momentum, eps=eps
    )
    expected_grads = torch.autograd.grad(expected, [reference, *parameters], torch.cat(grads).double())

    xs, ys_grad = ([t.to("neuron") for t in tensors] for tensors in (workers, grads))
    w, b, own_mean, own_var = (t.to("neuron") for t in (weight, bias, running_mean, running_var))
    stats = [torch.batch_norm_stats(x, eps) for x in xs]
    assert all(t.dtype == torch.float32 and t.shape == (5,) for pair in stats for t in pair)
    means, invstds = (torch.stack(list(column)) for column in zip(*stats, strict=True))
    counts = torch.tensor([float(x.numel() // 5) for x in xs], device="neuron")
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        xs[0], means, invstds, own_mean, own_var, momentum, eps, counts
    )
    torch.testing.assert_close([own_mean.cpu().double(), own_var.cpu().double()], running, rtol=1e-5, atol=1e-5)

    outputs = [torch.batch_norm_elemt(x, w, b, mean, invstd, eps) for x in xs]
    assert [(y.dtype, y.stride()) for y in outputs] == [(dtype, x.stride()) for x in xs]
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(torch.cat(outputs).cpu().double(), expected.detach(), rtol=tolerance, atol=tolerance)
    out = torch.empty(0, dtype=dtype, device="neuron")
    assert torch.batch_norm_elemt(xs[0], w, b, mean, invstd, eps, out=out) is out
    assert torch.equal(out, outputs[0])

    parts = [
        torch.batch_norm_backward_reduce(g, x, mean, invstd, w, True, True, True)
        for g, x in zip(ys_grad, xs, strict=True)
    ]
    sum_dy, sum_dy_xmu, grad_weight, grad_bias = (parts[0][i] + parts[1][i] for i in range(4))
    sums = [grad_weight.cpu().double(), grad_bias.cpu().double()]
    torch.testing.assert_close(sums, list(expected_grads[1:]), rtol=1e-4, atol=1e-4)
    elements = counts.to(torch.int32)
    grad_inputs = [
        torch.batch_norm_backward_elemt(g, x, mean, invstd, w, sum_dy, sum_dy_xmu, elements)
        for g, x in zip(ys_grad, xs, strict=True)
    ]
    torch.testing.assert_close(torch.cat(grad_inputs).cpu().double(), expected_grads[0], rtol=tolerance, atol=tolerance)


def test_sync_batch_norm_without_parameters() -> None:
    x = torch.randn(6, 4, 3, device="neuron")
    mean, invstd = torch.batch_norm_stats(x, 1e-5)
    same = [torch.stack([t, t]) for t in (mean, invstd)]
    combined = torch.batch_norm_gather_stats(x, same[0], same[1], None, None, 0.1, 1e-5, 18)
    torch.testing.assert_close(combined, (mean, invstd), rtol=1e-5, atol=1e-6)
    output = torch.batch_norm_elemt(x, None, None, mean, invstd, 1e-5)
    torch.testing.assert_close(output.cpu(), F.batch_norm(x.cpu(), None, None, training=True), rtol=1e-5, atol=1e-5)
    sum_dy, sum_dy_xmu, grad_weight, grad_bias = torch.batch_norm_backward_reduce(
        x, x, mean, invstd, None, True, False, False
    )
    assert sum_dy.shape == sum_dy_xmu.shape == (4,)
    assert grad_weight is None and grad_bias is None
