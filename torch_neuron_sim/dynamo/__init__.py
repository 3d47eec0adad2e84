"""``torch.compile``: not simulated, but programs that call it run.

The backend ``neuron`` passes the captured graph to eager execution. ``inductor``, PyTorch's default, generates no code
for the device and is refused with one error. Nothing here imports ``torch._dynamo`` before a program does.
"""

from types import ModuleType
from typing import Any

from torch_neuron_sim.dynamo.statistics import CompileWarning, get_dynamo_metrics, reset_dynamo_metrics
from torch_neuron_sim.import_hook import when_imported

__all__ = ["CompileWarning", "get_dynamo_metrics", "install", "neuron", "reset_dynamo_metrics"]


def neuron(graph: Any, example_inputs: Any, **arguments: Any) -> Any:
    """The backend, as torch._dynamo calls it: see torch_neuron_sim.dynamo.backend.pass_through."""
    from torch_neuron_sim.dynamo import backend

    return backend.pass_through(graph, example_inputs, **arguments)


def install() -> None:
    """Makes PyTorch know the backend, and inductor refuse the device, once these parts of PyTorch are imported.

    The entry point in the group ``torch_dynamo_backends`` says the same of the backend, where the package is installed.
    """
    when_imported("torch._dynamo.backends.registry", _register)
    when_imported("torch._inductor.compile_fx", _refuse)


def _register(registry: ModuleType) -> None:
    if registry._BACKENDS.get("neuron") is None:  # else PyTorch has seen the entry point, and registers what it names
        registry.register_backend(neuron, name="neuron")


def _refuse(compile_fx: ModuleType) -> None:
    from torch_neuron_sim.dynamo import inductor

    inductor.install(compile_fx)
