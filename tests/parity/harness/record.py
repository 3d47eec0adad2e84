"""What the checks of one case found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch.testing._internal.opinfo.core import SampleInput

from harness.compare import Mismatch

_FAILURES_KEPT = 5
_TEXT_KEPT = 600


@dataclass
class Kind:
    samples: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)


def _described(what: object) -> object:
    return what.summary() if isinstance(what, SampleInput) else what


class Record:
    """Counts samples and failures for each kind of check."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}

    @contextmanager
    def sample(self, kind: str, what: object) -> Iterator[None]:
        entry = self.kinds.setdefault(kind, Kind())
        entry.samples += 1
        try:
            yield
        except Mismatch as error:
            self.fail(kind, f"{error}", what)
        except Exception as error:  # the check itself broke: that is a failure of the case, with its text
            self.fail(kind, f"the check raised {error!r}", what)

    def fail(self, kind: str, text: str, what: object = "") -> None:
        entry = self.kinds.setdefault(kind, Kind())
        entry.failed += 1
        if len(entry.failures) < _FAILURES_KEPT:
            parts = what if isinstance(what, tuple) else (what,)
            described = " ".join(" ".join(f"{_described(part)}".split()) for part in parts)
            entry.failures.append(f"{text[:_TEXT_KEPT]} | {described[:_TEXT_KEPT]}")

    def to_json(self) -> dict[str, Any]:
        return {name: vars(kind) for name, kind in self.kinds.items()}
