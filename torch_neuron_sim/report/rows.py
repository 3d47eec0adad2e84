"""Rows of the report: one for each operator, route and reason."""

from dataclasses import dataclass

MOVING = ("fallback", "unsupported")
"""Routes whose bytes move between host and device."""


@dataclass(frozen=True)
class Place:
    """A line of the user's."""

    filename: str  # empty when no line of the user's led to the call
    line: int
    function: str  # without a filename, autograd's node

    def __str__(self) -> str:
        if not self.filename:
            return self.function or "no Python frame"
        return f"{self.filename}:{self.line} in {self.function}"


@dataclass(frozen=True)
class CallSite(Place):
    """A line of the user's that called an operator; it has the fields of Place: filename, line, function."""

    calls: int

    __str__ = Place.__str__


@dataclass(frozen=True)
class OpRow:
    """An operator on one route, for one reason."""

    op: str  # the dispatcher's full name
    recorded_as: str  # the name that get_fallback_ops() uses
    route: str  # native, fallback, unsupported, or float64: native calls that were computed as float32
    reason: str  # empty for native
    calls: int
    bytes: int  # fallback, unsupported: that move between host and device; native: read and written on the device
    first_use: int  # position in the order of first uses
    sites: tuple[CallSite, ...]
    sites_dropped: int  # calls from lines beyond those that sites has room for

    @property
    def key(self) -> tuple[str, str, str]:
        return self.op, self.route, self.reason

    @property
    def moved(self) -> int:
        """Bytes between host and device; none for what runs on the device."""
        return self.bytes if self.route in MOVING else 0

    @property
    def name(self) -> str:
        """The operator under the name that op tracking lists it by."""
        return self.op if self.route == "native" else self.recorded_as
