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
        content = json.loads(path.read_text()) if path.exists() else {"entry": key, "dtypes": {}}
        content["dtypes"][dtype] = result
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=1))
        unfinished.rename(path)

    def findings(self) -> Iterator[Finding]:
        for path in sorted(self.folder.glob("*.json")):
            content = json.loads(path.read_text())
            for dtype, result in content["dtypes"].items():
                for check, found in result["kinds"].items():
                    yield Finding(
                        content["entry"], dtype, check, found["samples"], found["failed"], tuple(found["failures"])
                    )

    def unexpected(self) -> list[Finding]:
        """Checks that failed without an exception."""
        exceptions = Exceptions.load()
        return [
            each
            for each in self.findings()
            if each.failed and each.check not in exceptions.expected_failures(each.entry, each.dtype)
        ]

    def score(self) -> dict[tuple[str, str], Counter[str]]:
        """By dtype and kind of check: entries checked and passed, samples checked and failed."""
        table: dict[tuple[str, str], Counter[str]] = {}
        for each in self.findings():
            for row in {(each.dtype, each.check), (each.dtype, "all"), ("all", each.check), ("all", "all")}:
                table.setdefault(row, Counter()).update(
                    entries=1, passed=int(not each.failed), samples=each.samples, failed=each.failed
                )
        return table
