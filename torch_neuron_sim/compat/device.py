"""Functions of ``torch_neuronx`` that take less than those of ``torch.neuron``, or are named otherwise."""

from torch_neuron_sim import _C
from torch_neuron_sim.device import check_index


def is_neuron_runtime_initialized() -> bool:
    """Whether the runtime has started: with the first device tensor, or with get_device_properties()."""
    return _C.is_initialized()


def set_device(device: int) -> None:
    """Makes a device current for this thread. ValueError for an index out of range, TypeError for anything but an int
    (``torch.neuron.set_device`` takes a torch.device, too).
    """
    if not isinstance(device, int):
        raise TypeError(
            f"torch_neuronx.set_device takes an int, got {device!r}; torch.neuron.set_device takes a torch.device, too"
        )
    _C.set_device(check_index(device))
