"""Lets ``torch.from_dlpack`` and other libraries ask a neuron tensor for its device.

``Tensor.__dlpack_device__`` knows PrivateUse1 backends only by the name "privateuse1", which no renamed backend has.
"""

import enum

import torch
from torch.overrides import has_torch_function_unary
from torch.utils.dlpack import DLDeviceType

_original = torch.Tensor.__dlpack_device__


def _dlpack_device(self: torch.Tensor) -> tuple[enum.IntEnum, int]:
    if not has_torch_function_unary(self) and self.device.type == "neuron":
        return DLDeviceType.kDLExtDev, self.device.index
    return _original(self)


def install() -> None:
    """Makes neuron tensors answer with DLPack's code for extension devices."""
    torch.Tensor.__dlpack_device__ = _dlpack_device  # type: ignore[method-assign]
