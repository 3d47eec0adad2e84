"""Operators of other libraries, whose CPU kernels are not written with the device in mind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import torch_neuron_sim

Define = Callable[..., Any]


def test_operator_runs_and_is_recorded_as_fallback(cpu_operator: Define) -> None:
    double = cpu_operator("double(Tensor x) -> Tensor", lambda x: x * 2)
    result = double(torch.arange(3.0, device="neuron:1"))
    assert result.device == torch.device("neuron", 1)
    assert result.tolist() == [0, 2, 4]
    assert torch_neuron_sim.get_fallback_ops() == [str(double).removesuffix(".default").replace(".", "::", 1)]


def test_kernel_sees_dense_cpu_tensors_of_the_same_geometry(cpu_operator: Define) -> None:
    seen: list[tuple[Any, ...]] = []

    def kernel(x: Tensor) -> Tensor:
        seen.append((x.device, x.layout, x.dtype, x.shape, x.stride(), x.storage_offset()))
        return x.clone()

    look = cpu_operator("look(Tensor x) -> Tensor", kernel)
    x = torch.arange(20, dtype=torch.int16).reshape(4, 5).to("neuron")[1:, ::2].t()
    assert torch.equal(look(x), x)
    assert seen == [(torch.device("cpu"), torch.strided, torch.int16, x.shape, x.stride(), x.storage_offset())]


def test_every_kind_of_argument_reaches_the_kernel(cpu_operator: Define) -> None:
    seen: list[tuple[Any, ...]] = []

    def kernel(x: Tensor, *rest: Any, **named: Any) -> Tensor:
        seen.append((*rest, *named.values()))
        return x.clone()

    plain_schema = "int i, float f, Scalar s, bool b, str t, int[] n, ScalarType? d"
    take = cpu_operator(f"take(Tensor x, Tensor? y, Tensor[] l, Tensor?[] o, {plain_schema}) -> Tensor", kernel)
    x = torch.ones(2, device="neuron")
    take(x, None, [], [None, x], 3, 0.5, 2, True, "text", [1, 2], torch.int8)
    ((y, listed, optional, *plain),) = seen
    assert y is None
    assert listed == []
    assert optional[0] is None
    assert optional[1].device.type == "cpu"
    assert plain == [3, 0.5, 2, True, "text", [1, 2], torch.int8]


def test_kernel_with_a_device_argument_is_told_cpu_and_its_result_goes_to_that_device(cpu_operator: Define) -> None:
    seen: list[torch.device] = []

    def kernel(x: Tensor, device: torch.device) -> Tensor:
        seen.append(device)
        return torch.ones(2, device=device)

    make = cpu_operator("make(Tensor x, Device device) -> Tensor", kernel)
    assert make(torch.ones(1, device="neuron:1"), torch.device("neuron:1")).device == torch.device("neuron:1")
    assert [device.type for device in seen] == ["cpu"]


def test_written_argument_keeps_what_the_kernel_wrote(cpu_operator: Define) -> None:
    def kernel(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    accumulate = cpu_operator("accumulate(Tensor(a!) x, Tensor y) -> ()", kernel)
    x = torch.ones(4, device="neuron")
    assert accumulate(x[::2], torch.tensor(2.0)) is None
    assert x.tolist() == [3, 1, 3, 1]


def test_written_argument_that_the_kernel_resizes(cpu_operator: Define) -> None:
    def kernel(x: Tensor, out: Tensor) -> Tensor:
        return out.resize_(x.numel() * 1000).fill_(x.numel())

    expand = cpu_operator("expand(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", kernel)
    out = torch.zeros(2, device="neuron")
    view = out.view(2)
    assert expand(torch.ones(3, device="neuron"), out=out) is out
    assert out.shape == (3000,)
    assert out.sum().item() == 9000
    assert out.untyped_storage().nbytes() == 12000
    assert view.tolist() == [3, 3]  # over the same storage, which grew


def test_operator_without_cpu_kernel_gives_one_line() -> None:
    with torch.library._scoped_library("neuron_launch_none", "DEF") as library:
        library.define("nothing(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError) as caught:
            torch.ops.neuron_launch_none.nothing(torch.ones(1, device="neuron"))
        assert re.fullmatch(
            r"neuron_launch_none::nothing has no kernel for neuron and none for CPU.*", str(caught.value)
        )
        # A kernel that is registered later is found.
        library.impl("nothing", lambda x: x + 1, "CPU")
        assert torch.ops.neuron_launch_none.nothing(torch.ones(1, device="neuron")).item() == 2


def test_operator_defined_again_with_another_schema() -> None:
    for schema, arguments in (("again(Tensor x) -> Tensor", 1), ("again(Tensor x, Tensor y, Tensor z) -> Tensor", 3)):
        with torch.library._scoped_library("neuron_launch_again", "DEF") as library:
            library.define(schema)
            library.impl("again", lambda *tensors: torch.stack(tensors).sum(0), "CPU")
            result = torch.ops.neuron_launch_again.again(*[torch.ones(2, device="neuron")] * arguments)
            assert result.tolist() == [arguments] * 2


def test_users_own_neuron_kernel_comes_first(cpu_operator: Define) -> None:
    with torch.library._scoped_library("neuron_launch_own", "DEF") as library:
        library.define("own(Tensor x) -> Tensor")
        library.impl("own", lambda x: x + 1, "CPU")
        library.impl("own", lambda x: x + 2, "PrivateUse1")
        assert torch.ops.neuron_launch_own.own(torch.zeros(1, device="neuron")).item() == 2
    assert torch_neuron_sim.get_fallback_ops() == []


def test_python_custom_op_for_cpu_trains() -> None:
    @torch.library.custom_op("neuron_launch_custom::cube", mutates_args=(), device_types="cpu")
    def cube(x: Tensor) -> Tensor:
        return x**3

    def backward(context: Any, gradient: Tensor) -> Tensor:
        return 3 * context.saved_tensors[0] ** 2 * gradient

    cube.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.tensor([2.0, 3.0], device="neuron", requires_grad=True)
    cube(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [12, 27]
    assert torch_neuron_sim.get_fallback_ops() == ["neuron_launch_custom::cube"]


def test_operator_that_fails_leaves_its_arguments_and_works_next_time(
    cpu_operator: Define, allocated: Callable[..., int]
) -> None:
    fail = True

    def kernel(x: Tensor) -> Tensor:
        x.resize_(5000)
        if fail:
            raise ValueError("not today")
        return x

    try_ = cpu_operator("try_(Tensor(a!) x) -> Tensor(a!)", kernel)
    x = torch.arange(3.0, device="neuron")
    before = allocated()
    with pytest.raises(ValueError, match="not today"):
        try_(x)
    assert x.tolist() == [0, 1, 2]
    assert (x + 1).tolist() == [1, 2, 3]
    assert allocated() == before
    assert torch_neuron_sim.get_fallback_ops() == []
    fail = False
    assert try_(x)[:3].tolist() == [0, 1, 2]
    assert x.shape == (5000,)


def test_operator_may_run_device_operators_inside(cpu_operator: Define) -> None:
    def kernel(x: Tensor) -> Tensor:
        device = torch.ones(3, device="neuron") * 2
        return x + device.cpu() + (device.add(1)).sum().item()

    nested = cpu_operator("nested(Tensor x) -> Tensor", kernel)
    assert nested(torch.zeros(3, device="neuron")).tolist() == [11, 11, 11]


def test_operator_may_return_a_tensor_that_is_on_the_device_already(cpu_operator: Define) -> None:
    there = torch.ones(3, device="neuron")
    give = cpu_operator("give(Tensor x) -> Tensor", lambda x: there)
    assert give(torch.zeros(1, device="neuron")) is there
