"""Autocast and gradient scaling, against the same casts written out by hand on CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

LOW = [torch.bfloat16, torch.float16]


def cross_entropy_by_hand(logits: Tensor, target: Tensor) -> Tensor:
    """PyTorch's lists put nll_loss into float32; cross_entropy asks for the log_softmax in the dtype of its input."""
    return F.nll_loss(logits.log_softmax(-1).float(), target)


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_matrix_products_run_in_the_low_precision_and_losses_in_float32(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(4, 8), torch.randn(5, 8), torch.randn(5)
    a, w, b = (tensor.to("neuron") for tensor in (x, weight, bias))
    with torch.autocast("neuron", dtype):
        product = F.linear(a, w, b)
        norm = F.layer_norm(product, (5,))
        loss = F.cross_entropy(product, torch.tensor([0, 1, 2, 3], device="neuron"))
        plain = a + 1
    assert (product.dtype, norm.dtype, loss.dtype, plain.dtype) == (dtype, torch.float32, torch.float32, torch.float32)
    expected = F.linear(x.to(dtype), weight.to(dtype), bias.to(dtype))
    assert torch.equal(product.cpu(), expected)
    assert torch.equal(norm.cpu(), F.layer_norm(expected.float(), (5,)))
    assert torch.equal(loss.cpu(), cross_entropy_by_hand(expected, torch.tensor([0, 1, 2, 3])))


class ByHand(nn.Module):
    """nn.Linear that casts as autocast does."""

    def __init__(self, linear: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        self.linear, self.dtype = linear, dtype

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(*(tensor.to(self.dtype) for tensor in (x, self.linear.weight, self.linear.bias)))


def trained(device: str, dtype: torch.dtype, *, by_hand: bool, scale: float) -> tuple[list[float], list[Tensor]]:
    torch.manual_seed(0)
    linears = [nn.Linear(6, 8), nn.Linear(8, 3)]
    wrap = [ByHand(linear, dtype) if by_hand else linear for linear in linears]
    model = nn.Sequential(wrap[0], nn.ReLU(), wrap[1]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, foreach=True)
    scaler: Any = torch.amp.GradScaler(device, init_scale=scale, growth_interval=3, enabled=dtype == torch.float16)
    losses = []
    for _ in range(8):
        x, y = torch.randn(10, 6).to(device), torch.randint(3, (10,)).to(device)
        optimizer.zero_grad()
        with torch.autocast(device, dtype, enabled=not by_hand):
            logits = model(x)
            loss = cross_entropy_by_hand(logits, y) if by_hand else F.cross_entropy(logits, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=True)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return [*losses, scaler.get_scale()], [parameter.detach().cpu() for parameter in model.parameters()]


@pytest.mark.parametrize(("dtype", "scale"), [(torch.bfloat16, 1.0), (torch.float16, 1024.0), (torch.float16, 2.0**24)])
def test_training_is_that_with_casts_by_hand_on_cpu(dtype: torch.dtype, scale: float) -> None:
    losses, parameters = trained("neuron", dtype, by_hand=False, scale=scale)
    losses_by_hand, parameters_by_hand = trained("cpu", dtype, by_hand=True, scale=scale)
    assert losses == losses_by_hand
    assert all(torch.equal(a, b) for a, b in zip(parameters, parameters_by_hand, strict=True))
    assert all(parameter.dtype == torch.float32 for parameter in parameters)


def test_scaler_skips_a_step_with_infinite_gradients_and_halves_the_scale() -> None:
    parameter = nn.Parameter(torch.ones(3, device="neuron"))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler = torch.amp.GradScaler("neuron", init_scale=8.0, growth_interval=2)
    (scaler.scale(parameter.sum()) * torch.tensor(float("inf"), device="neuron")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [1, 1, 1]
    assert scaler.get_scale() == 4
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(parameter.sum()).backward()
        assert parameter.grad is not None and parameter.grad.tolist() == [4, 4, 4]
        scaler.step(optimizer)
        scaler.update()
    assert parameter.tolist() == [-1, -1, -1]
    assert scaler.get_scale() == 8


def test_scaler_state_moves_between_devices() -> None:
    scaler = torch.amp.GradScaler("neuron", init_scale=64.0)
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 64


@pytest.mark.parametrize("fused", [False, True])
def test_scaler_with_fused_optimizer_gives_what_it_gives_on_cpu(fused: bool) -> None:
    results = []
    for device in ("cpu", "neuron"):
        parameter = nn.Parameter(torch.arange(3.0).to(device))
        optimizer = torch.optim.AdamW([parameter], lr=0.1, fused=fused, foreach=not fused)
        scaler: Any = torch.amp.GradScaler(device, init_scale=16.0)
        for _ in range(3):
            optimizer.zero_grad()
            scaler.scale(parameter.square().sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        results.append(parameter.detach().cpu())
    assert torch.equal(*results)


def test_casts_of_weights_are_cached_within_the_block_and_gradients_are_float32(
    allocated: Callable[..., int],
) -> None:
    weight = nn.Parameter(torch.ones(3, 3, device="neuron"))
    x = torch.ones(2, 3, device="neuron")
    with torch.autocast("neuron", torch.bfloat16):
        before = allocated()
        one = x @ weight
        after_first = allocated()
        two = x @ weight
        assert allocated() - after_first < after_first - before
    (one + two).sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    assert weight.grad.tolist() == [[4.0] * 3] * 3


def test_disabled_and_nested_blocks() -> None:
    a = torch.ones(2, 2, device="neuron")
    with torch.autocast("neuron", torch.bfloat16):
        assert torch.is_autocast_enabled("neuron") and not torch.is_autocast_enabled("cpu")
        with torch.autocast("neuron", enabled=False):
            assert (a @ a).dtype == torch.float32
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
        assert (a @ a).dtype == torch.bfloat16
    assert (a @ a).dtype == torch.float32


def test_binary_cross_entropy_is_refused_with_advice() -> None:
    with torch.autocast("neuron", torch.float16), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(torch.rand(3, device="neuron"), torch.ones(3, device="neuron"))


def test_custom_function_with_autocast_decorators() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="neuron", cast_inputs=torch.float32)
        def forward(ctx: Any, x: Tensor) -> Tensor:
            assert not torch.is_autocast_enabled("neuron")
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.amp.custom_bwd(device_type="neuron")
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return 2 * gradient * ctx.saved_tensors[0]

    x = torch.tensor([1.5, 2.0], dtype=torch.bfloat16, device="neuron", requires_grad=True)
    with torch.autocast("neuron", torch.bfloat16):
        y = Square.apply(x)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 4]
