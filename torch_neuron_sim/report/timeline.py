"""Memory and operators over time, kept small however long the program runs."""

from dataclasses import dataclass
from typing import Any

LIMIT = 600
"""Samples that a tape keeps at most."""

SHORTEST_NS = 5_000_000
"""The interval between samples that a tape starts with."""


@dataclass(frozen=True)
class Sample:
    at: int  # ns of the steady clock
    allocated: tuple[int, ...]  # bytes that tensors hold, by device
    native: int  # calls so far; both count on when op tracking is cleared
    fallback: int  # calls so far that fell back or are unsupported


class Tape:
    """The samples of one recording. When it is full, every two become one and the interval doubles."""

    def __init__(self, first: Sample) -> None:
        self.samples = [first]
        self.interval = SHORTEST_NS
        self.peaks = list(first.allocated)

    @property
    def due(self) -> int:
        """When the next sample is wanted."""
        return self.samples[-1].at + self.interval

    def take(self, sample: Sample) -> None:
        self.samples.append(sample)
        self.peaks = [max(pair) for pair in zip(self.peaks, sample.allocated, strict=True)]
        if len(self.samples) > LIMIT:
            self._thin()
            self.interval *= 2

    def _thin(self) -> None:
        """Halves the samples after the first: the later one of each two stays, with the larger memory."""
        first, *rest = self.samples
        pairs = zip(rest[::2], rest[1::2], strict=False)
        thinned = [_together(one, other) for one, other in pairs]
        self.samples = [first, *thinned, *(rest[-1:] if len(rest) % 2 else [])]

    def timeline(self) -> "Timeline":
        first = self.samples[0]
        used = [device for device, peak in enumerate(self.peaks) if peak]
        return Timeline(
            times_s=[round((sample.at - first.at) / 1e9, 6) for sample in self.samples],
            allocated_bytes={device: [sample.allocated[device] for sample in self.samples] for device in used},
            native_calls=[sample.native - first.native for sample in self.samples],
            fallback_calls=[sample.fallback - first.fallback for sample in self.samples],
        )


@dataclass(frozen=True)
class Timeline:
    """Lists of one length: a value for each sample, the begin and the end among them."""

    times_s: list[float]  # since the begin
    allocated_bytes: dict[int, list[int]]  # that tensors hold, by device; devices that held none are left out
    native_calls: list[int]  # since the begin
    fallback_calls: list[int]  # since the begin, unsupported operators among them

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the indices of devices as text."""
        return {
            "times_s": list(self.times_s),
            "allocated_bytes": {str(device): list(values) for device, values in self.allocated_bytes.items()},
            "native_calls": list(self.native_calls),
            "fallback_calls": list(self.fallback_calls),
        }


def _together(one: Sample, other: Sample) -> Sample:
    allocated = tuple(max(pair) for pair in zip(one.allocated, other.allocated, strict=True))
    return Sample(other.at, allocated, other.native, other.fallback)
