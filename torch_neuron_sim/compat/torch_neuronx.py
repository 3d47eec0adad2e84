"""TorchNeuron's module by name, provided by torch_neuron_sim. See torch_neuron_sim.compat.surface for what it holds."""

import importlib
from typing import Any, NoReturn

from torch_neuron_sim.compat import surface
from torch_neuron_sim.compat.version import VERSION

__version__ = VERSION


def _fill(namespace: dict[str, Any]) -> None:
    namespace.update(surface.attributes())
    for name in surface.SUBMODULES:
        importlib.import_module(f"{surface.NAME}.{name}")


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'torch_neuronx' has no attribute {name!r}: it is torch_neuron_sim's alias, which has the names of "
        "TorchNeuron's eager mode"
    )


_fill(globals())
