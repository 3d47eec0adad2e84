"""The alias: ``import torch_neuronx`` means the simulator, for programs that import TorchNeuron by that name.

It is off unless asked for, by install_alias(), by TORCH_NEURON_SIM_ALIAS=1, or by ``python -m torch_neuron_sim run``.
"""

import os
import sys

from torch_neuron_sim.compat import finder

VARIABLE = "TORCH_NEURON_SIM_ALIAS"

__all__ = ["VARIABLE", "alias_from_environment", "install_alias"]


def install_alias() -> None:
    """Makes ``import torch_neuronx`` mean the simulator in this process; a second call changes nothing.

    The alias stands last in ``sys.meta_path``: whatever else provides ``torch_neuronx`` wins. Libraries that look for
    the module to choose the device (accelerate, transformers) remember the answer, so install it before they look.
    """
    if not any(isinstance(entry, finder.AliasFinder) for entry in sys.meta_path):
        sys.meta_path.append(finder.AliasFinder())


def alias_from_environment() -> bool:
    """Whether the environment asks for the alias; ValueError names the variable and its legal values."""
    value = os.environ.get(VARIABLE) or "0"
    if value not in ("0", "1"):
        raise ValueError(f"{VARIABLE}: {value!r} is not a legal value. Legal: 0, 1")
    return value == "1"
