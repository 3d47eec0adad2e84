"""torch_neuron_sim.testing.assert_parity passes what agrees and names what does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from torch_neuron_sim.testing import assert_parity


@pytest.fixture(scope="module")
def wrong_op() -> Iterator[None]:
    """tns_parity::plus_one, whose kernel on the device adds 1.5."""
    library = torch.library.Library("tns_parity", "DEF")
    library.define("plus_one(Tensor x) -> Tensor")
    library.impl("plus_one", lambda x: x + 1, "CPU")
    library.impl("plus_one", lambda x: x + 1.5, "PrivateUse1")
    yield
    library._destroy()


class WrongOp(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.tns_parity.plus_one(x.detach())


class DependsOnDevice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 0.25 if x.device.type == "neuron" else x


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return grad * (3 if grad.device.type == "neuron" else 2)


def test_functions_and_modules_that_agree_pass() -> None:
    assert_parity(lambda a, b: torch.softmax(a @ b, -1), torch.randn(3, 4, requires_grad=True), torch.randn(4, 5))
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.ReLU())
    assert_parity(model, torch.randn(5, 4, requires_grad=True))
    assert_parity(lambda tree: {"sum": tree["a"] + tree["b"][0]}, {"a": torch.ones(2), "b": [torch.ones(2)]})


def test_random_state_and_arguments_are_left_as_they_were() -> None:
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), torch.randn(2, 3, requires_grad=True)
    before = torch.get_rng_state()
    assert_parity(model, x)
    assert torch.equal(torch.get_rng_state(), before)
    assert x.grad is None
    assert all(parameter.grad is None and parameter.device.type == "cpu" for parameter in model.parameters())


def test_the_first_op_that_differs_is_named_with_its_module(wrong_op: None) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_parity(nn.Sequential(nn.Linear(4, 4), WrongOp()), torch.randn(2, 4))
    text = str(caught.value)
    assert text.startswith("neuron and CPU differ in output 0: ")
    assert "First op that differs for the same arguments: tns_parity::plus_one in module 1 (WrongOp)" in text
    assert "Greatest absolute difference: 0.5" in text


def test_a_module_that_does_other_things_on_the_device_is_named() -> None:
    with pytest.raises(AssertionError, match=r"First module whose output differs.*: 1 \(DependsOnDevice\)"):
        assert_parity(nn.Sequential(nn.Linear(4, 4), DependsOnDevice()), torch.randn(2, 4))


def test_a_wrong_gradient_is_found() -> None:
    with pytest.raises(AssertionError, match="differ in gradient of input 0: "):
        assert_parity(WrongGradient.apply, torch.randn(3, requires_grad=True))


def test_tolerance_is_the_callers() -> None:
    inputs = (torch.zeros(2),)
    assert_parity(DependsOnDevice(), *inputs, rtol=0, atol=0.3)
    with pytest.raises(AssertionError):
        assert_parity(DependsOnDevice(), *inputs, rtol=0, atol=0.2)
    with pytest.raises(ValueError, match="rtol and atol go together"):
        assert_parity(DependsOnDevice(), *inputs, rtol=0.1)
