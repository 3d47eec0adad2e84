"""Inductor generates code for devices that it knows. For ``neuron`` it would fail somewhere inside; this says why."""

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from torch_neuron_sim.dynamo.errors import refuse

_TEXT = (
    "torch.compile: the backend 'inductor', which is the default, generates no code for the device 'neuron'. Pass "
    'backend="neuron", TorchNeuron\'s own (torch_neuron_sim runs its graphs eagerly), or backend="eager"'
)


def install(compile_fx: ModuleType) -> None:
    """Puts a check before ``torch._inductor.compile_fx.compile_fx``, through which every use of inductor goes."""
    original = compile_fx.compile_fx

    @functools.wraps(original)
    def checked(model_: Any, example_inputs_: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        if any(_on_neuron(value) for value in (*example_inputs_, *_values(model_))):
            refuse(_TEXT)
        return original(model_, example_inputs_, *args, **kwargs)

    compile_fx.compile_fx = checked  # type: ignore[attr-defined]


def _values(model: Any) -> list[Any]:
    """What the nodes of a captured graph are known to give: a graph without inputs may make tensors itself."""
    graph = getattr(model, "graph", None)
    return [node.meta.get("example_value", node.meta.get("val")) for node in graph.nodes] if graph is not None else []


def _on_neuron(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "neuron"
