"""Autograd beyond a plain backward: modes, anomalies, second order, forward mode, own functions."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torch_neuron_sim


def test_detach_and_no_grad() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    assert not x.detach().requires_grad
    assert x.detach().data_ptr() == x.data_ptr()
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
    (x.detach() * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1, 1]


def test_inference_mode() -> None:
    layer = nn.Linear(2, 2).to("neuron")
    with torch.inference_mode():
        y = layer(torch.ones(1, 2, device="neuron"))
        y.add_(1)
        assert y.is_inference()
    assert torch.equal(y.clone(), layer(torch.ones(1, 2, device="neuron")).detach() + 1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        y * torch.ones(1, 2, device="neuron", requires_grad=True)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        y.add_(1)


def test_change_of_a_saved_tensor_is_found() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_in_place_on_views_gives_the_gradients_of_cpu(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        x = torch.randn(4, 3).to(device).requires_grad_()
        y = x * 2
        y[1:3].mul_(x[:2])
        y.t()[0].add_(5).sin_()
        y.view(-1)[::5] = x.diagonal()
        y[:, 1:] = 1.0
        y.square().sum().backward()
        assert x.grad is not None
        return [y, x.grad]

    on_both(run)


def test_anomaly_mode_names_the_forward_line_of_a_nan() -> None:
    x = torch.tensor([-1.0, 4.0], device="neuron", requires_grad=True)
    with warnings.catch_warnings(record=True) as caught, torch.autograd.detect_anomaly():
        warnings.simplefilter("always")
        y = x.sqrt()  # the culprit
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"):
            y.sum().backward()
    assert any("the culprit" in str(warning.message) for warning in caught)


def test_anomaly_mode_lets_good_programs_pass() -> None:
    x = torch.tensor([4.0], device="neuron", requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        x.sqrt().backward()
    assert x.grad is not None and x.grad.tolist() == [0.25]


def test_gradient_penalty(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        critic = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Softplus(), nn.Flatten(), nn.Linear(36, 1)).to(device)
        x = torch.randn(3, 1, 5, 5).to(device).requires_grad_()
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        penalty = (slope.flatten(1).norm(dim=1) - 1).square().mean()
        penalty.backward()
        return [penalty, *(p.grad for p in critic.parameters() if p.grad is not None)]

    assert len(on_both(run)) == 4  # the last bias has no influence on the slope


@pytest.mark.parametrize("shape", ["linear", "norm", "attention", "softmax"])
def test_first_and_second_derivatives_are_right(shape: str) -> None:
    """Against finite differences, in float64."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, dtype=torch.float64, device="neuron", requires_grad=True)
    w = torch.randn(5, 4, dtype=torch.float64, device="neuron", requires_grad=True)
    functions = {
        "linear": lambda x, w: nn.functional.linear(x, w).tanh(),
        "norm": lambda x, w: nn.functional.layer_norm(x, (4,), w[0], w[1]),
        "attention": lambda x, w: nn.functional.scaled_dot_product_attention(x, x * 2, x @ w[:4]),
        "softmax": lambda x, w: (x @ w.t()).softmax(-1),
    }
    with torch_neuron_sim.float64_policy("exact"):
        assert torch.autograd.gradcheck(functions[shape], (x, w))
        assert torch.autograd.gradgradcheck(functions[shape], (x, w))


def test_forward_mode(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        x, tangent = torch.randn(3, 4).to(device), torch.randn(3, 4).to(device)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, tangent)
            return list(torch.autograd.forward_ad.unpack_dual(dual.sin().sum(1).exp()))

    on_both(run)


def test_own_function() -> None:
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
            ctx.save_for_backward(x)
            ctx.limit = limit
            return x.clamp(-limit, limit)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
            (x,) = ctx.saved_tensors
            assert x.device.type == gradient.device.type == "neuron"
            return gradient * (x.abs() <= ctx.limit), None

    x = torch.tensor([-3.0, 0.5, 2.0], device="neuron", requires_grad=True)
    (Clip.apply(x, 1.0) * torch.tensor([1.0, 2.0, 3.0], device="neuron")).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 2, 0]


def test_error_in_backward_reaches_the_caller_and_leaves_the_device_usable() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            raise KeyError("on purpose")

    x = torch.ones(2, device="neuron", requires_grad=True)
    with pytest.raises(KeyError, match="on purpose"):
        Fails.apply(x * 2).sum().backward()
    (x * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3]
