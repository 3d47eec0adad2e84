"""A folder of results, one JSON file for each entry of a database, and what they say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harness.exceptions import Exceptions


class Finding(NamedTuple):
    entry: str
    dtype: str
    check: str
    samples: int
    failed: int
    failures: tuple[str, ...]
    relaxed: dict[str, int]  # samples that were compared less strictly than by equal bits, by reason

    def __str__(self) -> str:
        text = "\n    ".join(self.failures)
        return f"{self.entry} {self.dtype} {self.check}: {self.failed} of {self.samples} failed\n    {text}"


class Results:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / (re.sub(r"[^\w.-]", "_", key) + ".json")

    def dtypes_done(self, key: str) -> set[str]:
        path = self._path(key)
        return set(json.loads(path.read_text())["dtypes"]) if path.exists() else set()

    def add(self, key: str, dtype: str, result: dict[str, Any]) -> None:
        path = self._path(key)
        content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"entry": key, "dtypes": {}}
        content["dtypes"][dtype] = result
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=1))
        unfinished.rename(path)

    def cases(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Entry, dtype, and the result."""
        for path in sorted(self.folder.glob("*.*.json")):
            content = json.loads(path.read_text())
            for dtype, result in sorted(content["dtypes"].items()):
                yield content["entry"], dtype, result

    def findings(self) -> Iterator[Finding]:
        for entry, dtype, result in self.cases():
            for check, found in result["kinds"].items():
                counts = found["samples"], found["failed"], tuple(found["failures"]), found["relaxed"]
                yield Finding(entry, dtype, check, *counts)

    def unexpected(self) -> list[Finding]:
        """Checks that failed without an exception."""
        return unexpected(self.findings())


def unexpected(findings: Iterator[Finding]) -> list[Finding]:
    """Those that failed without an exception."""
    exceptions = Exceptions.load()
    return [
        each
        for each in findings
        if each.failed and not exceptions.of(each.entry, each.dtype).expected_to_fail(each.check)
    ]


def score(findings: Iterator[Finding]) -> dict[tuple[str, str], Counter[str]]:
    """By dtype and kind of check ("all" for the sum): entries checked and passed, samples checked, failed, relaxed."""
    table: dict[tuple[str, str], Counter[str]] = {}
    entries: dict[tuple[str, str], dict[tuple[str, str], bool]] = {}
    for each in findings:
        for row in {(each.dtype, each.check), (each.dtype, "all"), ("all", each.check), ("all", "all")}:
            relaxed = sum(each.relaxed.values())
            table.setdefault(row, Counter()).update(samples=each.samples, failed=each.failed, relaxed=relaxed)
            passed = entries.setdefault(row, {})
            case = each.entry, each.dtype
            passed[case] = passed.get(case, True) and not each.failed
    for row, passed in entries.items():
        table[row].update(cases=len(passed), passed=sum(passed.values()))
    return table


def relaxations(findings: Iterator[Finding]) -> Counter[str]:
    """Samples that were compared less strictly than by equal bits, by reason."""
    total: Counter[str] = Counter()
    for each in findings:
        total.update(each.relaxed)
    return total
