"""Sends neuron tensors to other processes: by value, as pickle does.

Device memory belongs to one process. CUDA shares it by a handle, so that a receiver sees later writes of the sender;
here the receiver gets the values at the time of sending, on the same device index.
"""

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def _reduce(storage: torch.UntypedStorage) -> Reduced:
    by_value = storage.device.type == "neuron"
    reduced: Reduced = storage.__reduce__() if by_value else reductions.reduce_storage(storage)  # type: ignore[no-untyped-call]
    return reduced


def install() -> None:
    """Makes ``torch.multiprocessing`` able to send neuron tensors, parameters and storages."""
    ForkingPickler.register(torch.UntypedStorage, _reduce)
