"""Users' operators through torch.library: kernels for the device by its name, and what torch's tools make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing._internal.optests import OpCheckError

import torch_neuron_sim

pytestmark = pytest.mark.filterwarnings("ignore::torch_neuron_sim.FallbackWarning")

_numbers = count()


@pytest.fixture
def scale() -> Iterator[Any]:
    """``scale(x, factor)``: an operator with a CPU kernel, a fake one and a formula for its gradient."""

    def multiply(x: Tensor, factor: float) -> Tensor:
        return x * factor

    name = f"neuron_interop_{next(_numbers)}::scale"
    made = torch.library.custom_op(name, multiply, mutates_args=(), device_types="cpu")
    made.register_fake(lambda x, factor: torch.empty_like(x))

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.factor = inputs[1]

    made.register_autograd(lambda ctx, gradient: (gradient * ctx.factor, None), setup_context=keep)
    yield made


def test_kernel_for_all_devices_runs_as_the_operators_that_it_calls() -> None:
    name = f"neuron_interop_{next(_numbers)}::both"

    @torch.library.custom_op(name, mutates_args=())
    def both(x: Tensor) -> Tensor:
        return x * 2 + 1

    assert both(torch.ones(2, device="neuron")).tolist() == [3, 3]
    assert name not in torch_neuron_sim.get_fallback_ops()
    assert "aten::mul.Tensor" in torch_neuron_sim.get_executed_ops()


def register_on_operator(operator: Any, kernel: Callable[..., Tensor]) -> None:
    operator.register_kernel("neuron", kernel)


def register_by_name(operator: Any, kernel: Callable[..., Tensor]) -> None:
    torch.library.register_kernel(operator._qualname, "neuron", kernel)


@pytest.mark.parametrize("register", [register_on_operator, register_by_name])
def test_kernel_registered_for_neuron_comes_before_that_of_cpu(scale: Any, register: Callable[..., None]) -> None:
    register(scale, lambda x, factor: x * factor + 100)
    assert scale(torch.ones(2, device="neuron"), 2.0).tolist() == [102, 102]
    assert scale(torch.ones(2), 2.0).tolist() == [2, 2]
    assert scale._qualname not in torch_neuron_sim.get_fallback_ops()


def test_kernel_of_an_operator_that_torch_library_defined() -> None:
    name = f"neuron_interop_{next(_numbers)}"
    with torch.library._scoped_library(name, "DEF") as library:
        library.define("plus(Tensor x) -> Tensor")
        torch.library.impl(f"{name}::plus", "neuron", lambda x: x + 5)
        assert getattr(torch.ops, name).plus(torch.zeros(2, device="neuron")).tolist() == [5, 5]


def test_dispatch_key_is_spelled_privateuse1(scale: Any) -> None:
    """A Library takes keys, not device names."""
    name = f"neuron_interop_{next(_numbers)}"
    with torch.library._scoped_library(name, "DEF") as library:
        library.define("plus(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="dispatch key: neuron"):
            library.impl("plus", lambda x: x + 1, "neuron")
        library.impl("plus", lambda x: x + 1, "PrivateUse1")
        assert getattr(torch.ops, name).plus(torch.zeros(2, device="neuron")).tolist() == [1, 1]


def test_gradient_vmap_and_compile(scale: Any) -> None:
    scale.register_vmap(lambda info, dims, x, factor: (scale(x, factor), dims[0]))
    x = torch.arange(4.0, device="neuron").reshape(2, 2).requires_grad_()
    scale(x, 3.0).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[3, 3], [3, 3]]
    assert torch.equal(torch.func.vmap(lambda row: scale(row, 2.0))(x), x * 2)
    compiled = torch.compile(lambda x: scale(x, 2.0) + 1, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x.detach()), x.detach() * 2 + 1)


def test_opcheck(scale: Any) -> None:
    """All its tests but one: that of the autograd registration knows CPU, CUDA and XPU only, and needs a gradient."""
    assert set(torch.library.opcheck(scale, (torch.randn(3).to("neuron"), 2.0)).values()) == {"SUCCESS"}
    sample = (torch.randn(3).to("neuron").requires_grad_(), 2.0)
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    assert set(torch.library.opcheck(scale, sample, test_utils=tests).values()) == {"SUCCESS"}
    with pytest.raises(OpCheckError, match="CPU/CUDA/XPU"):
        torch.library.opcheck(scale, sample)


def test_subclass_and_modes_see_the_operator(scale: Any) -> None:
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Watch():
        scale(torch.ones(1, device="neuron"), 2.0)
    assert any(name.endswith("scale.default") for name in seen)
