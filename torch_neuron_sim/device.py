"""Devices: how many there are, which is current, and how a program names one."""

import operator
from types import TracebackType

import torch

from torch_neuron_sim import _C

Device = int | str | torch.device | None


def _get_device_index(device: Device, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The index of a device given as int, ``"neuron:1"``, ``"1"`` or torch.device.

    Without an index, or for None: the current device if ``optional``, else ValueError. A CPU device gives None if
    ``allow_cpu``. ValueError for a device of another type and for an index out of range, TypeError for anything else.
    """
    if isinstance(device, str):
        device = int(device) if device.isdecimal() else _parse(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return None
        if device.type != "neuron":
            raise _not_a_neuron_device(device)
        device = device.index
    if device is None:
        if not optional:
            raise ValueError("Expected a neuron device with an index, e.g. 'neuron:0' or 0")
        return _C.current_device()
    try:
        return check_index(operator.index(device))
    except TypeError:
        raise TypeError(f"Expected a device as int, str or torch.device, got {device!r}") from None


def _parse(device: str) -> torch.device:
    try:
        return torch.device(device)
    except RuntimeError:
        raise _not_a_neuron_device(device) from None


def _not_a_neuron_device(device: str | torch.device) -> ValueError:
    return ValueError(f"Expected neuron device, got '{device}'; name one as 'neuron', 'neuron:0' or 0")


def device_index(device: Device) -> int:
    """The index of a device; None, and a device without an index, mean the current one. ValueError as above."""
    index = _get_device_index(device, optional=True)
    assert index is not None
    return index


def check_index(index: int) -> int:
    if not 0 <= index < _C.device_count():
        raise ValueError(f"Invalid device id: {index} (there are {_C.device_count()} neuron devices, numbered from 0)")
    return index


def is_available() -> bool:
    """Whether there is a neuron device: there always is a simulated one."""
    return _C.device_count() > 0


def is_initialized() -> bool:
    """Whether the runtime has started: with the first device tensor, init() or get_device_properties()."""
    return _C.is_initialized()


def init() -> None:
    """Starts the runtime. RuntimeError in a process that was forked after it had started."""
    _C.init()


def _is_in_bad_fork() -> bool:
    return _C.is_in_bad_fork()


def device_count() -> int:
    """Logical NeuronCores of the simulated instance."""
    return _C.device_count()


def current_device() -> int:
    """Index of this thread's current device."""
    return _C.current_device()


def set_device(device: Device) -> None:
    """Makes a device current for this thread; None leaves it. ValueError for an index out of range."""
    if device is not None:
        _C.set_device(device_index(device))


def synchronize(device: Device = None) -> None:
    """Waits for all work on a device (default: the current one) and raises what went wrong in it."""
    _C.synchronize(device_index(device))


def get_device_name(device: int | torch.device = 0) -> str:
    """``"neuron:0"`` for 0, ``str(device)`` for a torch.device; not the chip's name, for which see
    get_device_properties. ValueError for any other type, as on TorchNeuron.
    """
    if isinstance(device, torch.device):
        device_index(device)
        return str(device)
    if isinstance(device, int):
        return f"neuron:{check_index(device)}"
    raise ValueError(f"Expected an int or a torch.device, got {device!r}")


class device:
    """Context manager: makes a device current, and the previous one again at the end. None changes nothing.

    Entering raises ValueError for an index out of range.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._previous: list[int] = []

    def __enter__(self) -> None:
        self._previous.append(_C.current_device())
        set_device(self._device)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _C.set_device(self._previous.pop())


class device_of(device):
    """Context manager: makes the device of a tensor current; a tensor that is not on neuron changes nothing."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device if tensor.device.type == "neuron" else None)


def _sleep(cycles: int) -> None:
    """Does nothing, as on TorchNeuron."""
