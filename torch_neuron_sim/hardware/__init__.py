"""The simulated hardware: which instance, how many devices, how much memory.

Chosen by TORCH_NEURON_SIM_INSTANCE, TORCH_NEURON_SIM_DEVICES, TORCH_NEURON_SIM_HBM_GIB and NEURON_LOGICAL_NC_CONFIG
when the package is imported.
"""

from dataclasses import dataclass

from torch_neuron_sim import _C
from torch_neuron_sim.device import Device, device_index

__all__ = ["Hardware", "NeuronDeviceProperties", "get_device_properties", "hardware"]


@dataclass(frozen=True)
class Hardware:
    instance: str  # e.g. trn2.3xlarge
    chip: str  # the family, e.g. trn2
    device_count: int  # logical NeuronCores
    devices_per_stack: int  # devices that share one HBM stack: 1 for logical cores of two physical ones, else 2
    stack_bytes: int  # HBM of one stack


@dataclass(frozen=True, repr=False)
class NeuronDeviceProperties:
    name: str  # the instance family, e.g. trn2
    total_memory: int  # bytes that the device can use; a stack that two devices share counts in full for both

    def __repr__(self) -> str:
        return f"<NeuronDeviceProperties(name={self.name!r}, total_memory={self.total_memory})>"


def hardware() -> Hardware:
    """The simulated instance."""
    return Hardware(**_C.topology())


def get_device_properties(device: Device = None) -> NeuronDeviceProperties:
    """Properties of a device (default: the current one). Starts the runtime; ValueError for an index out of range."""
    device_index(device)
    _C.init()
    topology = _C.topology()
    return NeuronDeviceProperties(topology["chip"], topology["stack_bytes"])
