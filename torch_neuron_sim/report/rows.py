"""Rows of the report: one for each operator, route and reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CallSite:
    filename: str  # empty when no line of the user's led to the call
    line: int
    function: str  # without a filename, autograd's node
    calls: int

    def __str__(self) -> str:
        if not self.filename:
            return self.function or "no Python frame"
        return f"{self.filename}:{self.line} in {self.function}"


@dataclass(frozen=True)
class OpRow:
    op: str  # the dispatcher's full name
    recorded_as: str  # the name that get_fallback_ops() uses
    route: str  # native, fallback, unsupported, or float64: native calls that were computed as float32
    reason: str  # empty for native
    calls: int
    bytes: int  # that a real device would move between host and device
    first_use: int  # position in the order of first uses
    sites: tuple[CallSite, ...]
    sites_dropped: int  # calls from lines beyond those that sites has room for

    @property
    def key(self) -> tuple[str, str, str]:
        return self.op, self.route, self.reason
