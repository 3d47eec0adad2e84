"""The most memory that tensors held, for each device."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from torch_neuron_sim import _C


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of one device that was used."""

    device: int
    peak_bytes: int  # that tensors held at once
    sampled: bool  # the peak is the largest of samples: the true one may lie between two of them
    allocated_bytes: int  # at the end
    capacity_bytes: int  # of the HBM stack that the device uses
    devices_per_stack: int


@dataclass(frozen=True)
class Usage:
    """Of all devices, by index, in bytes."""

    current: tuple[int, ...]
    peak: tuple[int, ...]  # since the start, or the last reset_peak_memory_stats()


def read() -> Usage:
    if not _C.is_initialized() or _C.is_in_bad_fork():
        nothing = (0,) * _C.device_count()
        return Usage(nothing, nothing)
    # What torch.accelerator.memory_stats() flattens and sorts, which costs six times as much.
    stats = [
        torch._C._accelerator_getDeviceStats(index)["allocated_bytes"]["all"] for index in range(_C.device_count())
    ]
    return Usage(tuple(each["current"] for each in stats), tuple(each["peak"] for each in stats))


def of_process() -> list[DeviceMemory]:
    """The devices that were used."""
    usage = read()
    return _devices(usage, usage.peak, [False] * len(usage.peak))


def of_block(begin: Usage, end: Usage, sampled: Sequence[int]) -> list[DeviceMemory]:
    """Peaks between two readings: exact where the block set a new record, else the largest of ``sampled``.

    The device's own peak is not reset at the begin, since it is the user's.
    """
    peaks, estimates = [], []
    for index, (before, after) in enumerate(zip(begin.peak, end.peak, strict=True)):
        record = after > before and after >= sampled[index]
        peaks.append(after if record else max(sampled[index], end.current[index]))
        # A sample as high as the device's own record is exact as well.
        estimates.append(not record and peaks[-1] != before)
    return _devices(end, peaks, estimates)


def _devices(usage: Usage, peaks: Sequence[int], sampled: Sequence[bool]) -> list[DeviceMemory]:
    topology = _C.topology()
    capacity, sharing = topology["stack_bytes"], topology["devices_per_stack"]
    return [
        DeviceMemory(index, peak, estimate, usage.current[index], capacity, sharing)
        for index, (peak, estimate) in enumerate(zip(peaks, sampled, strict=True))
        if peak
    ]
