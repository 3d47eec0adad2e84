"""What training loops do around forward and backward: accumulation, hooks, saved tensors, averages, second order."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def gradients_of(model: nn.Module) -> list[Tensor]:
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


def test_accumulated_gradients_are_the_sum(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        model, batches = small().to(device), torch.randn(4, 5, 4).to(device)
        total = [torch.zeros_like(p) for p in model.parameters()]
        for batch in batches:
            for sum_, gradient in zip(total, torch.autograd.grad(model(batch).sum(), model.parameters()), strict=True):
                sum_ += gradient
        for batch in batches:
            model(batch).sum().backward()
        assert all(torch.equal(a, b) for a, b in zip(total, gradients_of(model), strict=True))
        return gradients_of(model)

    assert len(on_both(run)) == 4


def test_module_hooks_see_and_change_what_passes() -> None:
    seen: list[tuple[str, str]] = []
    layer = nn.Linear(3, 2).to("neuron")

    def forward(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        seen.append(("forward", output.device.type))
        return output * 2

    def backward(module: nn.Module, into: Any, out: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(("backward", out[0].device.type))
        return (into[0] * 10,)

    layer.register_forward_hook(forward)
    layer.register_full_backward_hook(backward)
    x = torch.ones(1, 3, device="neuron", requires_grad=True)
    layer(x).sum().backward()
    assert seen == [("forward", "neuron"), ("backward", "neuron")]
    assert x.grad is not None
    assert torch.equal(x.grad, 20 * layer.weight.sum(0, keepdim=True))


def test_tensor_hooks() -> None:
    order = []
    x = torch.ones(3, device="neuron", requires_grad=True)
    x.register_hook(lambda gradient: order.append("tensor") or gradient * 3)
    x.register_post_accumulate_grad_hook(lambda leaf: order.append(f"accumulated {leaf.grad.tolist()}"))
    (x * 2).sum().backward()
    assert order == ["tensor", "accumulated [6.0, 6.0, 6.0]"]


def test_optimizer_step_in_backward_frees_gradients(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        model = small().to(device)
        optimizers = {p: torch.optim.SGD([p], lr=0.1, foreach=True) for p in model.parameters()}

        def step(parameter: Tensor) -> None:
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()

        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(step)
        for _ in range(3):
            model(torch.randn(5, 4).to(device)).square().sum().backward()
        assert gradients_of(model) == []
        return list(model.parameters())

    on_both(run)


@pytest.mark.parametrize("pin_memory", [False, True])
def test_saved_tensors_can_wait_on_the_cpu(pin_memory: bool, allocated: Callable[..., int]) -> None:
    x = torch.linspace(0, 1, 8).to("neuron").requires_grad_()
    with torch.autograd.graph.save_on_cpu(pin_memory=pin_memory, device_type="neuron"):
        before = allocated()
        y = x.exp().sin().sum()
        kept = allocated() - before
    assert kept <= y.untyped_storage().nbytes() + 512
    y.backward()
    with torch.no_grad():
        expected = x.exp().cos() * x.exp()
    assert x.grad is not None and torch.equal(x.grad, expected)


@pytest.mark.parametrize("use_buffers", [False, True])
def test_moving_average_of_a_model(use_buffers: bool, on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(device)
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=use_buffers)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(6, 4).to(device)).square().sum().backward()
            optimizer.step()
            average.update_parameters(model)
        update_bn([torch.randn(6, 4).to(device) for _ in range(2)], average)
        assert not torch.equal(average.module[0].weight, model[0].weight)
        # The average counts its updates on the CPU until it is moved.
        return [*average.parameters(), average.module[1].running_mean, average.module[1].running_var]

    on_both(run)


def test_stochastic_weight_average_is_the_mean() -> None:
    model = nn.Linear(2, 1, bias=False).to("neuron")
    average = AveragedModel(model, device=torch.device("neuron"))
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(model.weight, value)
        average.update_parameters(model)
    assert average.module.weight.tolist() == [[3, 3]]


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs(line_search: str | None, on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        model, x, y = small().to(device), torch.randn(10, 4).to(device), torch.randn(10, 2).to(device)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn=line_search)

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        first = closure().detach()
        for _ in range(2):
            optimizer.step(closure)
        last = closure().detach()
        assert last < first
        return [*model.parameters(), last]

    on_both(run)


def test_freezing_a_part_trains_only_the_rest() -> None:
    torch.manual_seed(0)
    model = small().to("neuron")
    model[0].requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.1)
    model(torch.randn(5, 4).to("neuron")).square().sum().backward()
    optimizer.step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"2.weight", "2.bias"}
