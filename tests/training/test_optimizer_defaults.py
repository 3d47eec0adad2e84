"""Which implementation torch.optim chooses on the device: foreach by default, fused when asked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

import torch_neuron_sim


def ops_of_a_step(kind: type[optim.Optimizer], device: str = "neuron", **options: Any) -> tuple[set[str], list[Tensor]]:
    """Names of the operators (without overload) that one step calls, and the parameters after two."""
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(3, 4).to(device)) for _ in range(3)]
    optimizer = kind(parameters, **options)
    for parameter in parameters:
        parameter.grad = torch.randn(3, 4).to(device)
    optimizer.step()
    with torch_neuron_sim.record() as report:
        optimizer.step()
    return {row.op.split(".")[0] for row in report.rows}, [parameter.detach().cpu() for parameter in parameters]


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad, optim.RMSprop, optim.NAdam])
def test_default_is_foreach(kind: type[optim.Optimizer]) -> None:
    ops, parameters = ops_of_a_step(kind, lr=0.1)
    assert any(op.startswith("aten::_foreach_") for op in ops)
    assert not any(op.startswith("aten::_fused_") for op in ops)
    _, on_cpu = ops_of_a_step(kind, "cpu", lr=0.1, foreach=True)
    assert all(torch.equal(a, b) for a, b in zip(parameters, on_cpu, strict=True))


@pytest.mark.parametrize(
    ("kind", "op"),
    [
        (optim.SGD, "aten::_fused_sgd_"),
        (optim.Adam, "aten::_fused_adam_"),
        (optim.AdamW, "aten::_fused_adamw_"),
        (optim.Adagrad, "aten::_fused_adagrad_"),
    ],
)
def test_fused_on_request(kind: type[optim.Optimizer], op: str) -> None:
    ops, parameters = ops_of_a_step(kind, lr=0.1, fused=True)
    assert op in ops
    assert not any(name.startswith("aten::_foreach_") and name != "aten::_foreach_add_" for name in ops)
    _, on_cpu = ops_of_a_step(kind, "cpu", lr=0.1, fused=True)
    assert all(torch.equal(a, b) for a, b in zip(parameters, on_cpu, strict=True))


def test_for_loop_on_request() -> None:
    ops, _ = ops_of_a_step(optim.AdamW, foreach=False)
    assert not any(op.startswith(("aten::_foreach_", "aten::_fused_")) for op in ops)


def test_step_counts_stay_on_the_cpu_unless_capturable_or_fused() -> None:
    for options, place in (({}, "cpu"), ({"capturable": True}, "neuron"), ({"fused": True}, "neuron")):
        parameter = nn.Parameter(torch.ones(2, device="neuron"))
        optimizer = optim.AdamW([parameter], **options)
        parameter.grad = torch.ones(2, device="neuron")
        optimizer.step()
        assert optimizer.state[parameter]["step"].device.type == place
        assert optimizer.state[parameter]["step"].item() == 1


def test_clipping_is_foreach_by_default() -> None:
    parameter = nn.Parameter(torch.ones(4, device="neuron"))
    parameter.grad = torch.full((4,), 2.0, device="neuron")
    with torch_neuron_sim.record() as report:
        norm = nn.utils.clip_grad_norm_([parameter], 1.0)
    assert norm.item() == 4
    assert norm.device.type == "neuron"
    assert any(row.op.startswith("aten::_foreach_norm") for row in report.rows)


def test_zero_grad_can_keep_the_tensors() -> None:
    parameter = nn.Parameter(torch.ones(2, device="neuron"))
    parameter.grad = torch.ones(2, device="neuron")
    gradient = parameter.grad
    optim.SGD([parameter]).zero_grad(set_to_none=False)
    assert parameter.grad is gradient
    assert gradient.tolist() == [0, 0]
