"""Programs that call torch.compile run, with the values and gradients of eager execution."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from torch_neuron_sim import record
from torch_neuron_sim.dynamo import get_dynamo_metrics, reset_dynamo_metrics

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 8)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(F.gelu(self.norm(self.first(x)))) * self.scale


def branches(x: Tensor) -> Tensor:
    y = x.sin()
    if y.sum() > 0:  # a graph break
        return y * 2
    return y - 1


def writes_its_input(x: Tensor) -> Tensor:
    x.add_(1)
    return (x * x).sum()


def makes_tensors(x: Tensor) -> Tensor:
    return torch.arange(x.shape[0], device=x.device)[:, None] + torch.zeros_like(x)


def attends(x: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])


def in_mixed_precision(x: Tensor) -> Tensor:
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        return x @ x.T


@pytest.mark.parametrize(
    "function", [branches, writes_its_input, makes_tensors, attends, in_mixed_precision], ids=lambda f: f.__name__
)
def test_functions_give_what_they_give_eagerly(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.linspace(-1, 2, 32).reshape(4, 8).to("neuron")
    mine, reference = x.clone(), x.clone()
    assert torch.equal(torch.compile(function, backend="neuron")(mine), function(reference))
    assert torch.equal(mine, reference)


@pytest.mark.parametrize("backend", ["neuron", "eager", "aot_eager"])
def test_a_module_trains(backend: str) -> None:
    torch.manual_seed(0)
    eager = Block().to("neuron")
    trained = copy.deepcopy(eager)
    compiled = torch.compile(trained, backend=backend, fullgraph=True)
    x = torch.randn(4, 8).to("neuron")
    for step in range(2):
        losses = [module(x).square().mean() for module in (eager, compiled)]
        assert torch.equal(*losses), step
        for loss, module in zip(losses, (eager, trained), strict=True):
            module.zero_grad()
            loss.backward()
            torch.optim.SGD(module.parameters(), lr=0.1).step()
    for one, other in zip(eager.parameters(), trained.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0 if backend == "neuron" else 1e-6, atol=0)


def test_module_compile_and_the_decorator_work() -> None:
    module = Block().to("neuron")
    x = torch.ones(2, 8, device="neuron")
    expected = module(x)
    module.compile(backend="neuron")
    assert torch.equal(module(x), expected)

    @torch.compile(backend="neuron")
    def double(x: Tensor) -> Tensor:
        return x * 2

    assert torch.equal(double(x), x * 2)


def test_gradients_of_inputs_that_are_no_leaves_and_of_views() -> None:
    def function(x: Tensor) -> Tensor:
        x.mul_(2)
        return x[1:].sum()

    leaf = torch.ones(3, device="neuron", requires_grad=True)
    torch.compile(function, backend="neuron")(leaf * 1).backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [0, 2, 2]


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_modes_that_pytorch_knows_are_taken(mode: str) -> None:
    x = torch.ones(3, device="neuron")
    assert torch.equal(torch.compile(lambda x: x + 1, backend="neuron", mode=mode)(x), x + 1)


def test_compiling_leaves_tracking_and_random_numbers_alone() -> None:
    def function(x: Tensor) -> Tensor:
        return F.dropout(x, 0.5)

    x = torch.ones(64, device="neuron")
    torch.manual_seed(3)
    expected = function(x)
    torch.manual_seed(3)
    assert torch.equal(torch.compile(function, backend="neuron")(x), expected)


def test_metrics_count_graphs_until_they_are_reset() -> None:
    neuron = torch.get_device_module("neuron")
    x = torch.ones(4, device="neuron")
    torch.compile(lambda x: (x + 1).relu(), backend="neuron")(x)
    torch.compile(lambda x: x.argmax(), backend="neuron")(x)
    assert neuron.get_dynamo_metrics() == {"graphs": 2, "operators": 3, "graphs_that_would_fail": 1}
    reset_dynamo_metrics()
    assert get_dynamo_metrics() == {"graphs": 0, "operators": 0, "graphs_that_would_fail": 0}


def test_the_report_says_that_a_graph_would_not_compile() -> None:
    torch._dynamo.reset()
    x = torch.ones(2, 3).to("neuron")
    with record() as compiled:
        torch.compile(lambda x: x.argmax(-1), backend="neuron")(x)
    with record() as plain:
        x.argmax(-1)
    assert (compiled.verdict.device, plain.verdict.device) == ("raises", "falls back")
