"""The simulated hardware: which instance, how many devices, how much memory, and the constants of its chip.

Chosen by TORCH_NEURON_SIM_INSTANCE, TORCH_NEURON_SIM_DEVICES, TORCH_NEURON_SIM_HBM_GIB, NEURON_LOGICAL_NC_CONFIG and
NEURON_RT_VISIBLE_CORES (docs/environment.md) when the package is imported.
"""

from torch_neuron_sim.hardware.active import chip, load_chip, override
from torch_neuron_sim.hardware.chips import Chip, Constant
from torch_neuron_sim.hardware.instance import (
    ChipNode,
    Hardware,
    LogicalCore,
    NeuronDeviceProperties,
    Stack,
    Tree,
    get_device_properties,
    hardware,
    tree,
)

__all__ = [
    "Chip",
    "ChipNode",
    "Constant",
    "Hardware",
    "LogicalCore",
    "NeuronDeviceProperties",
    "Stack",
    "Tree",
    "chip",
    "get_device_properties",
    "hardware",
    "load_chip",
    "override",
    "tree",
]
