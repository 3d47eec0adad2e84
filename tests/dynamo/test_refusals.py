"""What is not compiled is refused with one error that says what to do."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

INDUCTOR = (
    "torch.compile: the backend 'inductor', which is the default, generates no code for the device 'neuron'. Pass "
    'backend="neuron", TorchNeuron\'s own (torch_neuron_sim runs its graphs eagerly), or backend="eager"'
)


def add_one(x: Tensor) -> Tensor:
    return x + 1


def makes_its_own(x: Tensor) -> Tensor:
    return torch.ones(3, device="neuron") * 2


@pytest.mark.parametrize(
    "arguments", [{}, {"mode": "reduce-overhead"}, {"options": {"max_autotune": True}}, {"dynamic": True}]
)
@pytest.mark.parametrize(("function", "device"), [(add_one, "neuron"), (makes_its_own, "cpu")])
def test_inductor_is_refused(function: Callable[[Tensor], Tensor], device: str, arguments: dict[str, Any]) -> None:
    compiled = torch.compile(function, **arguments)
    with pytest.raises(RuntimeError) as caught:
        compiled(torch.ones(3, device=device))
    assert str(caught.value).splitlines()[0] == INDUCTOR
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[0] == __file__
    assert len(files) <= 4, "PyTorch's compiler is not in the traceback"
    assert caught.value.__suppress_context__


def test_inductor_still_compiles_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []
    import torch._inductor.compile_fx as compile_fx

    def stop(graph: Any, inputs: list[Any], **kwargs: Any) -> Any:
        reached.append(len(inputs))
        return graph.forward

    monkeypatch.setattr(compile_fx, "_maybe_wrap_and_compile_fx_main", lambda *args, **kwargs: stop(args[0], args[1]))
    assert torch.compile(add_one)(torch.ones(3)).tolist() == [2, 2, 2]
    assert reached == [1]


def test_dynamic_shapes_are_refused() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.compile(add_one, backend="neuron", dynamic=True)(torch.ones(3, device="neuron"))
    assert str(caught.value).splitlines()[0] == (
        "torch.compile(backend='neuron', dynamic=True): the Neuron backend compiles fixed shapes only. Pass "
        "dynamic=False, and pad or bucket inputs whose shapes vary"
    )


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"mode='fastest'.*unknown mode\. Legal: default, .*max-autotune"):
        torch.compile(add_one, backend="neuron", mode="fastest")(torch.ones(3, device="neuron"))


def test_an_unknown_backend_is_pytorchs_error() -> None:
    with pytest.raises(RuntimeError, match="Invalid backend: 'neuronx'"):
        torch.compile(add_one, backend="neuronx")
