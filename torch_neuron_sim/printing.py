"""Prints tensors from a host copy, as PyTorch does for devices where each small op would compile.

PyTorch formats a tensor with a dozen small ops, some in float64. On the device they would be recorded, and warned
about, as if the program had called them.
"""

import torch
from torch import _tensor_str

_original = _tensor_str._tensor_str

# Beyond this, PyTorch's own way is kept: it looks only at the edges of a large tensor.
_HOST_COPY_LIMIT_BYTES = 64 << 20


def _format(self: torch.Tensor, indent: int) -> str:
    if self.device.type == "neuron" and self.numel() * self.element_size() <= _HOST_COPY_LIMIT_BYTES:
        self = self.detach().cpu()
    return str(_original(self, indent))  # type: ignore[no-untyped-call]


def install() -> None:
    """Makes ``print(tensor)`` format neuron tensors on the host; the text still names the device."""
    _tensor_str._tensor_str = _format
