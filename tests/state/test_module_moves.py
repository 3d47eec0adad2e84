"""Moving modules: parameters stay the objects they are, so optimizers and ties survive."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn, optim

MOVES: dict[str, Callable[[nn.Module], nn.Module]] = {
    "to('neuron')": lambda module: module.to("neuron"),
    "to('neuron:1')": lambda module: module.to("neuron:1"),
    "neuron()": lambda module: module.neuron(),
    "neuron(1)": lambda module: module.neuron(1),
    "to(tensor)": lambda module: module.to(torch.empty(0, device="neuron")),
    "cpu() and neuron()": lambda module: module.neuron().cpu().neuron(),
    "to(dtype and device)": lambda module: module.to("neuron", torch.bfloat16),
}


@pytest.mark.parametrize("name", MOVES)
def test_parameters_and_buffers_move_and_stay_the_same_objects(name: str) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    before = list(module.parameters())
    values = [parameter.detach().clone() for parameter in before]
    assert MOVES[name](module) is module
    for old, new, value in zip(before, module.parameters(), values, strict=True):
        assert new is old
        assert new.device.type == "neuron"
        assert new.is_leaf and new.requires_grad
        assert torch.equal(new.detach().cpu(), value.to(new.dtype))
    assert module[1].running_mean.device == before[0].device
    assert before[0].device.index == (1 if "1" in name else 0)
    assert next(module.cpu().parameters()) is before[0]
    assert before[0].device.type == "cpu"


def step(module: nn.Module, optimizer: optim.Optimizer) -> None:
    optimizer.zero_grad()
    parameter = next(module.parameters())
    x = torch.linspace(-1, 1, 12).view(4, 3).to(parameter.device, parameter.dtype)
    module(x).square().sum().backward()
    optimizer.step()


def test_optimizer_built_before_the_move_trains_on() -> None:
    results = []
    for path in (["cpu"] * 4, ["cpu", "neuron:0", "neuron:1", "cpu"]):
        torch.manual_seed(0)
        module = nn.Linear(3, 2)
        optimizer = optim.SGD(module.parameters(), lr=0.1)
        for device in path:
            module.to(device)
            step(module, optimizer)
        results.append(module.weight.detach())
    assert torch.equal(*results)


def test_gradients_move_with_their_parameters() -> None:
    module = nn.Linear(3, 2)
    module(torch.ones(1, 3)).sum().backward()
    module.to("neuron")
    assert module.weight.grad is not None
    assert module.weight.grad.device.type == "neuron"
    assert module.weight.grad.tolist() == [[1, 1, 1], [1, 1, 1]]
    module.cpu()
    assert module.weight.grad.device.type == "cpu"


def test_tied_weights_stay_tied() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5, bias=False))
    module[1].weight = module[0].weight
    optimizer = optim.SGD(module.parameters(), lr=0.5)
    for device in ("neuron", "cpu", "neuron:1"):
        module.to(device)
        assert module[0].weight is module[1].weight
    assert len(list(module.parameters())) == 1
    module(torch.tensor([1, 2], device="neuron:1")).square().sum().backward()
    optimizer.step()
    assert torch.equal(module[0].weight, module[1].weight)


def test_assigning_data_moves_a_parameter_in_place() -> None:
    parameter = nn.Parameter(torch.arange(3.0))
    seen = {parameter: "known to an optimizer"}
    parameter.data = parameter.data.to("neuron")
    assert parameter.device.type == "neuron"
    assert seen[parameter]
    (parameter * 2).sum().backward()
    assert parameter.grad is not None and parameter.grad.tolist() == [2, 2, 2]
    parameter.grad = None
    parameter.data = torch.ones(2, 2)
    assert parameter.device.type == "cpu" and parameter.shape == (2, 2)


def test_data_shares_memory_and_is_hidden_from_autograd() -> None:
    tensor = torch.ones(3, device="neuron", requires_grad=True)
    squared = tensor * tensor
    tensor.data.mul_(3)
    assert tensor.tolist() == [3, 3, 3]
    assert tensor._version == 0
    squared.sum().backward()
    assert tensor.grad is not None and tensor.grad.tolist() == [6, 6, 6]


def test_gradient_of_another_device_is_refused_as_on_cpu() -> None:
    parameter = nn.Parameter(torch.ones(2, device="neuron"))
    with pytest.raises(RuntimeError, match="device type 'cpu' to a tensor with device type 'neuron'"):
        parameter.grad = torch.ones(2)


@pytest.mark.parametrize(("convert", "dtype"), [("half", torch.float16), ("bfloat16", torch.bfloat16)])
def test_precision_changes_on_the_device_as_on_cpu(convert: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    expected = [value.clone() for value in getattr(module, convert)().state_dict().values()]
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to("neuron")
    weight = module[0].weight
    getattr(module, convert)()
    assert module[0].weight is weight and weight.dtype == dtype
    assert module[1].num_batches_tracked.dtype == torch.int64
    assert all(torch.equal(a.cpu(), b) for a, b in zip(module.state_dict().values(), expected, strict=True))
    assert module.float()[0].weight.dtype == torch.float32


def test_to_empty_and_meta() -> None:
    with torch.device("meta"):
        module = nn.Linear(3, 2)
    module.to_empty(device="neuron")
    assert module.weight.device.type == "neuron"
    module.load_state_dict(nn.Linear(3, 2).state_dict())
    assert torch.isfinite(module(torch.ones(1, 3, device="neuron"))).all()


def test_device_context_builds_modules_on_the_device_with_cpu_values() -> None:
    torch.manual_seed(0)
    expected = nn.Linear(3, 2)
    torch.manual_seed(0)
    with torch.device("neuron:1"):
        module = nn.Linear(3, 2)
    assert module.weight.device == torch.device("neuron:1")
    assert torch.equal(module.weight.cpu(), expected.weight)


def test_channels_last_survives_the_move() -> None:
    module = nn.Conv2d(4, 8, 3).to(memory_format=torch.channels_last).to("neuron")
    assert module.weight.is_contiguous(memory_format=torch.channels_last)
    assert not module.weight.is_contiguous()


@pytest.mark.parametrize("non_blocking", [False, True])
def test_tensors_move_to_and_fro_whether_or_not_pinned(non_blocking: bool) -> None:
    for source in (torch.arange(1000.0), torch.arange(1000.0).pin_memory()):
        there = source.to("neuron", non_blocking=non_blocking)
        back = there.to("cpu", non_blocking=non_blocking)
        torch.neuron.synchronize()
        assert torch.equal(back, source)
    into = torch.empty(1000).pin_memory()
    into.copy_(there, non_blocking=non_blocking)
    torch.neuron.synchronize()
    assert torch.equal(into, source)


def test_move_to_where_it_is_makes_no_copy() -> None:
    tensor = torch.ones(2, device="neuron:1")
    assert tensor.to("neuron:1") is tensor
    assert tensor.to("neuron:1", copy=True).data_ptr() != tensor.data_ptr()
    assert tensor.neuron().device == torch.device("neuron:0")
