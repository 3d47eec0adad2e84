"""State dicts of modules and optimizers, between CPU and device in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

DIRECTIONS = [("cpu", "neuron"), ("neuron", "cpu"), ("neuron:0", "neuron:1")]


def model(device: str, seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2)).to(device)


def train(module: nn.Module, optimizer: optim.Optimizer, steps: int) -> list[float]:
    generator = torch.Generator().manual_seed(0)
    device = next(module.parameters()).device
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = module(torch.randn(8, 4, generator=generator).to(device)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
@pytest.mark.parametrize("assign", [False, True])
def test_module_state(source: str, target: str, assign: bool) -> None:
    one, other = model(source, 0), model(target, 1)
    train(one, optim.SGD(one.parameters(), lr=0.1), 2)
    weight = other[0].weight
    result = other.load_state_dict(one.state_dict(), assign=assign)
    assert (result.missing_keys, result.unexpected_keys) == ([], [])
    assert (other[0].weight is weight) == (not assign)
    for name, value in other.state_dict().items():
        assert torch.equal(value.cpu(), one.state_dict()[name].cpu()), name
        assert value.device == torch.device(source if assign else target) or value.device.index == 0
    assert other[1].num_batches_tracked.item() == 2


MAKERS: dict[str, Callable[[Iterable[nn.Parameter]], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "AdamW foreach": lambda p: optim.AdamW(p, lr=0.01, amsgrad=True, foreach=True),
    "AdamW fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),
}


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
@pytest.mark.parametrize("name", MAKERS)
def test_training_goes_on_elsewhere_as_if_it_had_not_moved(
    name: str, source: str, target: str, reload: Callable[..., Any]
) -> None:
    stays = model("cpu", 0)
    optimizer = MAKERS[name](stays.parameters())
    train(stays, optimizer, 3)

    moves = model(source, 0)
    first = MAKERS[name](moves.parameters())
    train(moves, first, 3)
    checkpoint = reload(
        {"model": moves.state_dict(), "optimizer": first.state_dict()}, map_location=target, weights_only=True
    )
    arrived = model(target, 7)
    arrived.load_state_dict(checkpoint["model"])
    second = MAKERS[name](arrived.parameters())
    second.load_state_dict(checkpoint["optimizer"])

    assert train(arrived, second, 3) == train(stays, optimizer, 3)
    assert all(torch.equal(a.cpu(), b) for a, b in zip(arrived.parameters(), stays.parameters(), strict=True))
    assert moments_of(second), "nothing was compared"
    assert {tensor.device for tensor in moments_of(second)} == {next(arrived.parameters()).device}


def moments_of(optimizer: optim.Optimizer) -> list[Tensor]:
    """The state tensors that have the shape of their parameter."""
    return [
        value
        for parameter, state in optimizer.state.items()
        for value in state.values()
        if isinstance(value, Tensor) and value.shape == parameter.shape
    ]


def test_optimizer_state_moves_to_its_parameters_without_map_location() -> None:
    """load_state_dict puts it there, as torch.optim promises; only step counts stay on the CPU."""
    one = model("neuron", 0)
    optimizer = optim.Adam(one.parameters(), foreach=True)
    train(one, optimizer, 1)
    other = model("cpu", 0)
    loaded = optim.Adam(other.parameters(), foreach=True)
    loaded.load_state_dict(optimizer.state_dict())
    assert {tensor.device.type for tensor in moments_of(loaded)} == {"cpu"}
    assert len(moments_of(loaded)) == 2 * 6


FUSED: tuple[Callable[[Iterable[nn.Parameter]], optim.Optimizer], ...] = (
    lambda p: optim.Adam(p, lr=0.1, fused=True),
    lambda p: optim.AdamW(p, lr=0.1, fused=True),
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    lambda p: optim.Adagrad(p, lr=0.1, fused=True),
)


@pytest.mark.parametrize("map_location", ["cpu", "neuron", None])
@pytest.mark.parametrize("make", FUSED)
def test_state_of_a_fused_optimizer_is_on_the_device_wherever_it_was_loaded(
    make: Callable[[Iterable[nn.Parameter]], optim.Optimizer], map_location: str | None, reload: Callable[..., Any]
) -> None:
    """The counts of steps too, which a fused kernel reads there."""
    stays, moves = model("neuron", 0), model("neuron", 0)
    expected = train(stays, make(stays.parameters()), 4)
    first = make(moves.parameters())
    found = train(moves, first, 2)
    second = make(moves.parameters())
    second.load_state_dict(reload(first.state_dict(), map_location=map_location))
    tensors = [v for state in second.state.values() for v in state.values() if isinstance(v, Tensor)]
    assert {tensor.device for tensor in tensors} == {torch.device("neuron", 0)}
    assert found == expected[:2]
    assert {state["step"].item() for state in second.state.values() if "step" in state} <= {2}
    train(moves, second, 2)
    assert {state["step"].item() for state in second.state.values() if "step" in state} <= {4}


def test_shapes_that_do_not_fit_are_refused_as_on_cpu() -> None:
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        nn.Linear(2, 3).to("neuron").load_state_dict(nn.Linear(3, 3).state_dict())


def test_state_dict_of_the_device_shares_memory_with_the_module() -> None:
    module = nn.Linear(2, 2).to("neuron")
    module.state_dict()["bias"].fill_(5)
    assert module.bias.tolist() == [5, 5]


def test_moves_may_swap_parameters_instead_of_assigning_data() -> None:
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        module = model("cpu", 0)
        weight, optimizer = module[0].weight, optim.SGD(module.parameters(), lr=0.1)
        module.to("neuron")
        before = module[0].weight.detach().clone()
        train(module, optimizer, 1)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert module[0].weight is weight
    assert weight.device.type == "neuron"
    assert not torch.equal(weight, before)
