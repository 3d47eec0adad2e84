"""torch.compile of a program on the CPU is as without the device."""

from __future__ import annotations

import pytest
import torch
from torch import nn


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_functions_and_modules_on_the_cpu_stay_there(backend: str) -> None:
    x = torch.tensor([1.0, 2.0])
    found = torch.compile(lambda v: v * v + v.sin(), backend=backend)(x)
    assert found.device.type == "cpu"
    assert torch.equal(found, x * x + x.sin())
    module = nn.Linear(2, 2)
    y = torch.randn(3, 2, requires_grad=True)
    result = torch.compile(module, backend=backend)(y)
    assert torch.equal(result, module(y))
    result.sum().backward()
    assert y.grad is not None
    assert y.grad.device.type == module.weight.device.type == "cpu"


def test_backends_of_pytorch_are_still_listed() -> None:
    assert {"inductor", "neuron"} <= set(torch._dynamo.list_backends())
