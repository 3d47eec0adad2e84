"""``torch_neuronx.distributed``: collectives are not simulated, so the backend ``neuron`` is there and refuses."""

from typing import Any, NoReturn

import torch.distributed

BACKEND = "neuron"


def create_process_group(*args: Any) -> NoReturn:
    """What ``torch.distributed.init_process_group(backend="neuron")`` calls."""
    raise NotImplementedError(
        "torch.distributed: the backend 'neuron' is not simulated, a program runs in one process on one or more "
        "devices; start it without a launcher, or use backend='gloo' with tensors on the CPU"
    )


def install() -> None:
    """Registers the backend, for tensors on neuron, where PyTorch was built with torch.distributed."""
    if torch.distributed.is_available():
        torch.distributed.Backend.register_backend(BACKEND, create_process_group, devices=["neuron"])
