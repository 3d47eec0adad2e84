"""Activation checkpointing computes a part of the forward again, with the random numbers it had at first."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import torch_neuron_sim


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.5)),
        nn.Sequential(nn.Linear(32, 32), nn.Dropout(0.5), nn.Tanh()),
        nn.Linear(32, 1),
    )


def gradients(device: str, run: Callable[[nn.Sequential, Tensor], Tensor]) -> list[Tensor]:
    """Gradients of one step, and the next random numbers, all on the CPU."""
    module = model().to(device)
    torch.manual_seed(1)
    x = torch.randn(16, 6).to(device).requires_grad_()
    run(module, x).sum().backward()
    assert x.grad is not None
    found = [x.grad, *(p.grad for p in module.parameters() if p.grad is not None), torch.rand(4, device=device)]
    return [tensor.cpu() for tensor in found]


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) == 8 and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("rng_mode", ["shared", "device"])
@pytest.mark.parametrize("device", ["neuron:0", "neuron:1"])
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_and_later_random_numbers_are_those_without(use_reentrant: bool, device: str, rng_mode: str) -> None:
    def run(module: nn.Sequential, x: Tensor) -> Tensor:
        for layer in module:
            x = checkpoint(layer, x, use_reentrant=use_reentrant)
        return x

    with torch_neuron_sim.rng_mode(rng_mode):
        assert same(gradients(device, run), gradients(device, lambda module, x: module(x)))
        if rng_mode == "shared":
            assert same(gradients(device, run), gradients("cpu", run))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_without_the_random_state_dropout_differs(use_reentrant: bool) -> None:
    def run(module: nn.Sequential, x: Tensor) -> Tensor:
        return module[2](checkpoint(module[:2], x, use_reentrant=use_reentrant, preserve_rng_state=False))

    assert not same(gradients("neuron", run), gradients("neuron", lambda module, x: module(x)))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_sequential(use_reentrant: bool) -> None:
    def run(module: nn.Sequential, x: Tensor) -> Tensor:
        return checkpoint_sequential(module, 2, x, use_reentrant=use_reentrant)

    assert same(gradients("neuron", run), gradients("cpu", lambda module, x: module(x)))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_activations_are_not_kept(use_reentrant: bool, allocated: Callable[..., int]) -> None:
    layer = nn.Sequential(*(nn.Tanh() for _ in range(8))).to("neuron")
    x = torch.ones(64, 1024, device="neuron", requires_grad=True)
    kept = []
    for plain in (True, False):
        before = allocated()
        y = layer(x) if plain else checkpoint(layer, x, use_reentrant=use_reentrant)
        kept.append(allocated() - before)
        del y
    assert kept[0] == 8 * 64 * 1024 * 4
    assert kept[1] == 64 * 1024 * 4


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_autocast_is_in_force_again(use_reentrant: bool) -> None:
    def run(module: nn.Sequential, x: Tensor) -> Tensor:
        with torch.autocast("neuron", torch.bfloat16):
            return checkpoint(module, x, use_reentrant=use_reentrant).float()

    def plain(module: nn.Sequential, x: Tensor) -> Tensor:
        with torch.autocast("neuron", torch.bfloat16):
            return module(x).float()

    assert same(gradients("neuron", run), gradients("neuron", plain))
