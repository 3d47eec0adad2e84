"""The exceptions to parity, a data file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent.parent / "exceptions.toml"


@dataclass(frozen=True)
class Deviation:
    """One entry of a database with a set of dtypes: compared but for its values, or expected to fail in some kinds."""

    entry: str
    dtypes: frozenset[str]  # empty: all
    kind: str  # "metadata" or "xfail"
    checks: frozenset[str]  # the kinds of checks that are meant; metadata: empty for all
    reason: str

    def covers(self, entry: str, dtype: str) -> bool:
        return entry == self.entry and (not self.dtypes or dtype in self.dtypes)


class Exceptions:
    def __init__(self, entries: list[Deviation]) -> None:
        self.entries = entries

    @staticmethod
    @cache
    def load(path: Path = FILE) -> Exceptions:
        data = tomllib.loads(path.read_text()) if path.exists() else {}
        return Exceptions(
            [
                Deviation(
                    each["entry"],
                    frozenset() if each["dtypes"] == "all" else frozenset(each["dtypes"]),
                    each["kind"],
                    frozenset(each.get("checks", ())),
                    each["reason"],
                )
                for each in data.get("exception", ())
            ]
        )

    def of(self, entry: str, dtype: str) -> OfCase:
        return OfCase([each for each in self.entries if each.covers(entry, dtype)])


@dataclass(frozen=True)
class OfCase:
    """The exceptions of one entry with one dtype."""

    found: list[Deviation] = field(default_factory=list)

    def metadata_only(self, check: str) -> bool:
        """Whether a kind of check leaves values out."""
        return any(e.kind == "metadata" and (not e.checks or check in e.checks) for e in self.found)

    def expected_to_fail(self, check: str = "") -> bool:
        """Whether a kind of check, or any, is."""
        return any(e.kind == "xfail" and (not check or check in e.checks) for e in self.found)
