"""The exceptions to parity, a data file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
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

    def metadata_only(self, entry: str, dtype: str) -> Callable[[str], bool]:
        """Says for a kind of check whether values are left out."""
        found = [e for e in self.entries if e.kind == "metadata" and e.covers(entry, dtype)]
        return lambda check: any(not e.checks or check in e.checks for e in found)

    def expected_failures(self, entry: str, dtype: str) -> frozenset[str]:
        return frozenset().union(*(e.checks for e in self.entries if e.kind == "xfail" and e.covers(entry, dtype)))
