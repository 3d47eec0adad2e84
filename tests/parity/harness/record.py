"""What the checks of one case found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._internal.opinfo.core import SampleInput

from harness.exceptions import OfCase
from harness.routes import Ran, route, wrong_route

_FAILURES_KEPT = 5
_TEXT_KEPT = 600


class Mismatch(AssertionError):
    """The device and the CPU differ."""


@dataclass
class Kind:
    samples: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    relaxed: Counter[str] = field(default_factory=Counter)  # samples that were compared less strictly, by reason


@dataclass
class Operator:
    """Samples that an operator had a part in."""

    samples: int = 0
    failed: int = 0


@dataclass
class Sample:
    """One check of one sample, while it runs."""

    operators: set[Ran] = field(default_factory=set)
    relaxed: set[str] = field(default_factory=set)

    def ran(self, operators: Iterable[Ran]) -> None:
        self.operators |= set(operators)

    def relax(self, reason: str) -> None:
        self.relaxed.add(reason)


def _described(what: object) -> object:
    return what.summary() if isinstance(what, SampleInput) else what


class Record:
    """Counts samples and failures for each kind of check, and for each operator that ran on the device."""

    def __init__(self, exceptions: OfCase) -> None:
        self._exceptions = exceptions
        self.kinds: dict[str, Kind] = {}
        self.operators: dict[str, Operator] = {}
        self._routes: set[Ran] = set()
        self._dtypes: dict[str, set[torch.dtype]] = {}

    @contextmanager
    def sample(self, kind: str, what: object) -> Iterator[Sample]:
        entry = self.kinds.setdefault(kind, Kind())
        entry.samples += 1
        before = entry.failed
        sample = Sample()
        try:
            yield sample
        except Mismatch as error:
            self._fail(entry, f"{error}", what)
        except Exception as error:  # the check itself broke: that is a failure of the case, with its text
            self._fail(entry, f"the check raised {error!r}", what)
        else:
            entry.relaxed.update(sample.relaxed)
        failed = entry.failed > before
        # What fails as an exception says is no one operator's fault.
        if not (failed and self._exceptions.expected_to_fail(kind)):
            self._count(sample, failed)
        self._check_routes(sample)

    def _count(self, sample: Sample, failed: bool) -> None:
        for op in {each.op for each in sample.operators}:
            entry = self.operators.setdefault(op, Operator())
            entry.samples += 1
            entry.failed += failed

    def _check_routes(self, sample: Sample) -> None:
        for new in sample.operators - self._routes:
            self._routes.add(new)
            routes = self.kinds.setdefault("routes", Kind())
            routes.samples += 1
            if text := wrong_route(new):
                self._fail(routes, text, new.op)

    def _fail(self, entry: Kind, text: str, what: object) -> None:
        entry.failed += 1
        if len(entry.failures) < _FAILURES_KEPT:
            parts = what if isinstance(what, tuple) else (what,)
            described = " ".join(" ".join(f"{_described(part)}".split()) for part in parts)
            entry.failures.append(f"{text[:_TEXT_KEPT]} | {described[:_TEXT_KEPT]}")

    def note_dtypes(self, found: dict[str, set[torch.dtype]]) -> None:
        """Dtypes that operators were given."""
        for op, dtypes in found.items():
            self._dtypes.setdefault(op, set()).update(dtypes)

    def to_json(self) -> dict[str, Any]:
        operators = {
            op: {
                **vars(found),
                "route": route(op),
                "dtypes": sorted(f"{dtype}".removeprefix("torch.") for dtype in self._dtypes.get(op, ())),
            }
            for op, found in sorted(self.operators.items())
        }
        return {"kinds": {name: vars(kind) for name, kind in self.kinds.items()}, "operators": operators}
