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


def _rebuild(data: bytes, index: int) -> torch.UntypedStorage:
    device = torch.device("neuron", index)
    if not data:
        return torch.empty(0, dtype=torch.uint8, device=device).untyped_storage()
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device).untyped_storage()


def _reduce(storage: torch.UntypedStorage) -> Reduced:
    if storage.device.type == "neuron":
        host = torch.empty(0, dtype=torch.uint8).set_(storage.cpu())  # type: ignore[no-untyped-call]
        return _rebuild, (host.numpy().tobytes(), storage.device.index)
    reduced: Reduced = reductions.reduce_storage(storage)  # type: ignore[no-untyped-call]
    return reduced


def install() -> None:
    """Makes ``torch.multiprocessing`` able to send neuron tensors, parameters and storages."""
    ForkingPickler.register(torch.UntypedStorage, _reduce)
