"""Optimizers, gradient clipping and learning rate schedules do on neuron the sums that they do on CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.optim import lr_scheduler

OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "SGD": partial(optim.SGD, lr=0.1),
    "SGD momentum": partial(optim.SGD, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "SGD nesterov": partial(optim.SGD, lr=0.1, momentum=0.9, nesterov=True),
    "SGD maximize": partial(optim.SGD, lr=0.01, maximize=True),
    "Adam": partial(optim.Adam, lr=0.01),
    "Adam amsgrad": partial(optim.Adam, lr=0.01, amsgrad=True, weight_decay=0.1),
    "AdamW": partial(optim.AdamW, lr=0.01, weight_decay=0.1),
    "AdamW amsgrad": partial(optim.AdamW, lr=0.01, amsgrad=True, maximize=True),
    "Adagrad": partial(optim.Adagrad, lr=0.1, lr_decay=0.1),
}
WITHOUT_FUSED: dict[str, Callable[..., optim.Optimizer]] = {
    "RMSprop": partial(optim.RMSprop, lr=0.01, momentum=0.5, centered=True),
    "Adadelta": partial(optim.Adadelta, lr=0.5),
    "Adamax": partial(optim.Adamax, lr=0.01),
    "NAdam": partial(optim.NAdam, lr=0.01),
    "RAdam": partial(optim.RAdam, lr=0.01),
    "ASGD": partial(optim.ASGD, lr=0.01),
    "Rprop": partial(optim.Rprop, lr=0.01),
    "Adafactor": partial(optim.Adafactor, lr=0.01),
}
FORMS = {"for-loop": {"foreach": False}, "foreach": {"foreach": True}}
FUSED = {"fused": {"foreach": False, "fused": True}}
CONFIGURATIONS = {
    f"{name}, {form}": partial(make, **options)
    for optimizers, forms in ((OPTIMIZERS, FORMS | FUSED), (WITHOUT_FUSED, FORMS))
    for name, make in optimizers.items()
    for form, options in forms.items()
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_optimizer(name: str, zoo: ModuleType, compare: ModuleType) -> None:
    case, make = zoo.CASES["mlp"], CONFIGURATIONS[name]
    cpu, neuron = (compare.train(case, device, 6, make) for device in ("cpu", "neuron"))
    assert compare.differing(cpu, neuron) == {}
    assert len(set(neuron.losses)) == 6


@pytest.mark.parametrize("lr_on", ["cpu", "neuron"])
@pytest.mark.parametrize("form", ["foreach", "fused"])
def test_adamw_takes_its_learning_rate_from_a_tensor(
    form: str, lr_on: str, zoo: ModuleType, compare: ModuleType
) -> None:
    options = {"fused": {"fused": True}, "foreach": {"foreach": True, "capturable": True}}[form]
    neuron = compare.train(
        zoo.CASES["mlp"], "neuron", 4, lambda p: optim.AdamW(p, lr=torch.tensor(0.01, device=lr_on), **options)
    )
    cpu = compare.train(zoo.CASES["mlp"], "cpu", 4, partial(optim.AdamW, lr=0.01, foreach=True))
    torch.testing.assert_close(neuron.losses, cpu.losses, rtol=1e-5, atol=0)  # other forms of the same sums


def steps_with(device: str, act: Callable[[nn.Module], Any], steps: int = 3) -> list[Any]:
    """What ``act`` returns for a small model with fresh gradients, and the gradients it leaves."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    found = []
    for _ in range(steps):
        model.zero_grad()
        (10 * model(torch.randn(5, 6).to(device)).square().sum()).backward()
        found.append(act(model))
        found += [p.grad for p in model.parameters()]
    return [value.cpu() if isinstance(value, Tensor) else value for value in found]


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
def test_clip_grad_norm(norm: float, foreach: bool) -> None:
    def clip(model: nn.Module) -> Tensor:
        return nn.utils.clip_grad_norm_(model.parameters(), 0.5, norm_type=norm, foreach=foreach)

    cpu, neuron = (steps_with(device, clip) for device in ("cpu", "neuron"))
    assert cpu[0] > 0.5
    assert all(torch.equal(a, b) for a, b in zip(cpu, neuron, strict=True))


def test_clip_grad_norm_refuses_infinite_gradients_when_asked() -> None:
    model = nn.Linear(2, 2).to("neuron")
    model.weight.grad = torch.full((2, 2), float("inf"), device="neuron")
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)


@pytest.mark.parametrize("foreach", [False, True])
def test_clip_grad_value(foreach: bool) -> None:
    def clip(model: nn.Module) -> None:
        nn.utils.clip_grad_value_(model.parameters(), 0.25, foreach=foreach)

    cpu, neuron = (steps_with(device, clip, 1)[1:] for device in ("cpu", "neuron"))
    assert max(gradient.abs().max() for gradient in neuron) == 0.25
    assert all(torch.equal(a, b) for a, b in zip(cpu, neuron, strict=True))


SCHEDULES: dict[str, Callable[[optim.Optimizer], Any]] = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2, 0.5),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 6),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=8),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (step + 1)),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0, threshold=0.5),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=3), lr_scheduler.CosineAnnealingLR(o, 4)], [3]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name: str, zoo: ModuleType) -> None:
    case = zoo.CASES["mlp"]
    histories = []
    for device in ("cpu", "neuron"):
        torch.manual_seed(0)
        model = case.build().to(device)
        batch = tuple(tensor.to(device) for tensor in case.batch(torch.Generator().manual_seed(0)))
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
        schedule = SCHEDULES[name](optimizer)
        history = []
        for _ in range(7):
            optimizer.zero_grad()
            loss = case.loss(model, batch)
            loss.backward()
            optimizer.step()
            schedule.step(*([loss] if name == "ReduceLROnPlateau" else []))
            history.append((loss.item(), optimizer.param_groups[0]["lr"]))
        histories.append(history)
    assert histories[0] == histories[1]
    assert len({rate for _, rate in histories[1]}) > 1
