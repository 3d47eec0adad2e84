"""The exceptions to parity, a data file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent.parent / "exceptions.toml"


@dataclass(frozen=True)
class Exception_:
    """One entry of a database with a set of dtypes: compared but for its values, or expected to fail in some kinds."""

    entry: str
    dtypes: frozenset[str]
    kind: str  # "metadata" or "xfail"
    checks: frozenset[str]  # for xfail: the kinds of checks that fail
    reason: str


class Exceptions:
    def __init__(self, entries: list[Exception_]) -> None:
        self.entries = entries

    @staticmethod
    @cache
    def load(path: Path = FILE) -> Exceptions:
        data = tomllib.loads(path.read_text()) if path.exists() else {}
        return Exceptions(
            [
                Exception_(
                    each["entry"],
                    frozenset(each["dtypes"]),
                    each["kind"],
                    frozenset(each.get("checks", ())),
                    each["reason"],
                )
                for each in data.get("exception", ())
            ]
        )

    def metadata_only(self, entry: str, dtype: str) -> bool:
        return any(e.kind == "metadata" and e.entry == entry and dtype in e.dtypes for e in self.entries)

    def expected_failures(self, entry: str, dtype: str) -> frozenset[str]:
        return frozenset().union(
            *(e.checks for e in self.entries if e.kind == "xfail" and e.entry == entry and dtype in e.dtypes)
        )
