"""Trains a case of the zoo on a device and compares two such runs.

main() does so for the whole zoo, in a process of its own, under the coverage table that the environment names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


@dataclass
class Run:
    losses: list[float]
    tensors: dict[str, Tensor]  # on the CPU: gradients of the last step, parameters, buffers, loss in eval mode


def sgd(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    # foreach is spelled out because its default depends on the device, and both devices shall do the same sums.
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, foreach=True)


def train(
    case: Any,
    device: str,
    steps: int = 4,
    make_optimizer: MakeOptimizer = sgd,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Run:
    """Everything random follows from the seed, on every device: weights, batches, and what the model draws."""
    torch.manual_seed(seed)
    model = case.build().to(device, dtype)
    batch = case.batch(torch.Generator().manual_seed(seed))
    batch = tuple(tensor.to(device, dtype if tensor.is_floating_point() else None) for tensor in batch)
    optimizer = make_optimizer(model.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = case.loss(model, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    gradients = {f"gradient of {name}": p.grad for name, p in model.named_parameters() if p.grad is not None}
    model.eval()
    with torch.no_grad():
        tensors = {**gradients, **model.state_dict(), "loss in eval mode": case.loss(model, batch)}
    return Run(losses, {name: tensor.detach().cpu() for name, tensor in tensors.items()})


def differing(one: Run, other: Run) -> dict[str, float]:
    """The largest difference of each thing that has not the same bits in both runs."""
    found = {}
    if one.losses != other.losses:
        found["losses"] = max(abs(a - b) for a, b in zip(one.losses, other.losses, strict=True))
    for name in one.tensors.keys() | other.tensors.keys():
        a, b = one.tensors[name], other.tensors[name]
        if not torch.equal(a, b):
            found[name] = (a.double() - b.double()).abs().max().item()
    return found


def main(steps: int) -> None:
    """Compares CPU and neuron for every case, and prints what differs and what fell back, as JSON."""
    import zoo  # found by name: the process has this folder on its import path

    import torch_neuron_sim

    results = {}
    for name, case in zoo.CASES.items():
        torch_neuron_sim.clear_op_tracking()
        cpu, neuron = train(case, "cpu", steps), train(case, "neuron", steps)
        results[name] = {
            "differing": differing(cpu, neuron),
            "fallbacks": torch_neuron_sim.get_fallback_ops(),
        }
    print(json.dumps({"coverage": torch_neuron_sim.coverage_name(), "results": results}))
