"""Lets Lightning train on the device: ``Trainer(strategy=NeuronStrategy())``.

Lightning knows its own devices only. It takes an accelerator of another kind, but then puts a single-device run on CPU:
the strategy says which device is meant.
"""

from typing import Any

import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.plugins import MixedPrecision
from lightning.pytorch.strategies import SingleDeviceStrategy

from torch_neuron_sim.device import device_index
from torch_neuron_sim.memory import memory_stats


class NeuronAccelerator(Accelerator):
    """Lightning's view of a neuron device. Use NeuronStrategy, which brings it."""

    def setup_device(self, device: torch.device) -> None:
        """Makes the device current. MisconfigurationException for a device of another type."""
        if device.type != "neuron":
            raise MisconfigurationException(
                f"NeuronAccelerator: the strategy works on '{device}', not on neuron: pass strategy=NeuronStrategy() "
                "to the Trainer, without accelerator="
            )
        torch.accelerator.set_device_index(device_index(device))

    def get_device_stats(self, device: torch.device | str | int) -> dict[str, Any]:
        """torch.neuron.memory_stats, for Lightning's DeviceStatsMonitor."""
        return {name: value for name, value in memory_stats(device).items() if not isinstance(value, dict)}

    def teardown(self) -> None:
        torch.accelerator.empty_cache()

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> list[int]:
        """The index of the first device, or the one listed. MisconfigurationException for more than one."""
        if isinstance(devices, str):
            devices = [int(index) for index in devices.split(",")] if "," in devices else int(devices)
        indices = list(range(devices)) if isinstance(devices, int) else devices
        if len(indices) != 1:
            raise MisconfigurationException(
                f"NeuronAccelerator: devices={devices!r} asks for {len(indices)} devices, but a process trains on one: "
                "pass devices=1, and the index to NeuronStrategy"
            )
        return indices

    @staticmethod
    def get_parallel_devices(devices: list[int]) -> list[torch.device]:
        """The devices with these indices."""
        return [torch.device("neuron", index) for index in devices]

    @staticmethod
    def auto_device_count() -> int:
        """1: a process trains on one device."""
        return 1

    @staticmethod
    def is_available() -> bool:
        """True: there always is a simulated device."""
        return True

    @staticmethod
    def name() -> str:
        return "neuron"


class NeuronStrategy(SingleDeviceStrategy):
    """Trains on one neuron device, given by its index. ``options`` are those of SingleDeviceStrategy.

    ValueError for an index out of range.
    """

    strategy_name = "single_neuron"

    def __init__(self, device: int = 0, **options: Any) -> None:
        super().__init__(torch.device("neuron", device_index(device)), accelerator=NeuronAccelerator(), **options)

    def setup_environment(self) -> None:
        """Lightning makes mixed precision for CUDA unless the device is one of its own; here it is for neuron."""
        precision = self.precision_plugin
        if isinstance(precision, MixedPrecision) and precision.device == "cuda":
            precision.device = "neuron"
            precision.scaler = precision.scaler and torch.amp.GradScaler("neuron")
        super().setup_environment()
