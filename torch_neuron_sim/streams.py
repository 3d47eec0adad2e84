"""Streams and events. TorchNeuron gives every new stream the identity of the default one unless told otherwise; here
streams are distinct.
"""

from types import TracebackType
from typing import Any

import torch

from torch_neuron_sim import _C
from torch_neuron_sim.device import Device, device_index


class Stream(torch.Stream):
    """An ordered queue of work on a device (default: the current one). ``priority`` is kept, but changes no order."""

    priority: int

    def __new__(cls, device: Device = None, priority: int = 0, **identity: int) -> "Stream":
        """``identity`` (stream_id, device_index, device_type) names an existing stream instead of making one."""
        if identity:
            made = super().__new__(cls, **identity)
        else:
            made = super().__new__(cls, device=torch.device("neuron", device_index(device)))
        made.priority = priority
        return made

    def wait_stream(self, stream: torch.Stream) -> None:
        """Later work on this stream waits for what is on the other now. RuntimeError if that is on another device."""
        if stream.device_index != self.device_index:
            raise RuntimeError(
                f"wait_stream: a stream of {self.device} cannot wait for a stream of {stream.device}; "
                "call synchronize() on the other stream instead"
            )
        super().wait_stream(stream)

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records an event (default: a new one) on this stream and returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event


class Event(torch.Event):
    """A mark in a stream. ``enable_timing`` allows elapsed_time, in milliseconds; ``blocking`` changes nothing."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False) -> "Event":
        return super().__new__(cls, device="neuron", enable_timing=enable_timing, blocking=blocking)

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Simulated milliseconds of the device between the two events (docs/hardware.md); with TORCH_NEURON_SIM_TIME=0
        milliseconds of the host between the two ``record()`` calls. RuntimeError for an event that was made without
        ``enable_timing`` or not recorded, as on TorchNeuron, and for events of different devices.
        """
        # torch.Event subtracts only from an event of its own type, so both are subtracted from such a one.
        now = torch.Event(device=self.device, enable_timing=True)
        now.record(torch.accelerator.current_stream(self.device))
        try:
            return super().elapsed_time(now) - torch.Event.elapsed_time(end_event, now)
        except ValueError as error:  # torch.Event's own type for an event without timing or record
            raise RuntimeError(str(error)) from None


class StreamContext:
    """Context manager: makes a stream and its device current, and the previous ones again at the end. None changes
    nothing.
    """

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._previous: list[tuple[int, Stream]] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._previous.append((_C.current_device(), current_stream(self.stream.device_index)))
            set_stream(self.stream)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.stream is not None:
            index, previous = self._previous.pop()
            set_stream(previous)
            _C.set_device(index)


def stream(stream: torch.Stream | None) -> StreamContext:
    """See StreamContext."""
    return StreamContext(stream)


def current_stream(device: Device = None) -> Stream:
    """The stream that is current on a device (default: the current one) in this thread."""
    current = torch.accelerator.current_stream(device_index(device))
    return _as_stream(current.stream_id, current)


def default_stream(device: Device = None) -> Stream:
    """The stream that is current on a device until another is made so."""
    return _as_stream(0, current_stream(device))


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream and its device current in this thread; None leaves them."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


def wait_stream(stream: torch.Stream) -> None:
    """The current stream waits for another."""
    current_stream().wait_stream(stream)


def wait_event(event: torch.Event) -> None:
    """The current stream waits for an event."""
    current_stream().wait_event(event)


def record_event(event: torch.Event | None = None) -> torch.Event:
    """Records an event (default: a new one) on the current stream and returns it."""
    return current_stream().record_event(event)


def query() -> bool:
    """Whether all work on the current stream is done."""
    return current_stream().query()


def _as_stream(stream_id: int, of: Any) -> Stream:
    return Stream(stream_id=stream_id, device_index=of.device_index, device_type=of.device_type)
