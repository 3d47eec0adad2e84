"""What a full run found, in short: four files of the repository, of which docs/op-coverage.md is made."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness.results import Finding, Results

FOLDER = Path(__file__).parent.parent / "full_run"
_CASES = ("entry", "dtypes", "checks")  # checks: kind:samples or kind:samples/failed
_RELAXED = ("entry", "check", "reason", "dtypes", "samples")  # of each dtype
_OPERATORS = ("op", "route", "samples", "failed", "dtypes")


class Driven(NamedTuple):
    """An operator in the samples that it had a part in."""

    op: str
    route: str
    samples: int
    failed: int
    dtypes: tuple[str, ...]  # that it was given where no sample with it failed


@dataclass(frozen=True)
class Summary:
    run: dict[str, Any]  # versions, commit, command
    cases: list[Finding]  # without the texts of failures
    operators: list[Driven]

    @staticmethod
    def of(results: Results) -> Summary:
        run = json.loads((results.folder / "run.json").read_text())
        return Summary(run, [each._replace(failures=()) for each in results.findings()], list(_operators(results)))

    @staticmethod
    def read(folder: Path = FOLDER) -> Summary:
        relaxed: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
        for entry, check, reason, dtypes, samples in _rows(folder / "relaxed.tsv"):
            for dtype in dtypes.split():
                relaxed[entry, dtype, check][reason] = int(samples)
        cases = [
            Finding(entry, dtype, check, *_counts(count), (), relaxed.get((entry, dtype, check), {}))
            for entry, dtypes, checks in _rows(folder / "cases.tsv")
            for dtype in dtypes.split()
            for check, count in (text.split(":") for text in checks.split())
        ]
        operators = [
            Driven(op, route, int(samples), int(failed), tuple(dtypes.split()))
            for op, route, samples, failed, dtypes in _rows(folder / "operators.tsv")
        ]
        return Summary(json.loads((folder / "run.json").read_text()), cases, operators)

    def write(self, folder: Path = FOLDER) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "run.json").write_text(json.dumps(self.run, indent=1) + "\n")
        _write(folder / "cases.tsv", _CASES, self._case_rows())
        _write(folder / "relaxed.tsv", _RELAXED, self._relaxed_rows())
        operators = ([o.op, o.route, f"{o.samples}", f"{o.failed}", " ".join(o.dtypes)] for o in self.operators)
        _write(folder / "operators.tsv", _OPERATORS, operators)

    def _case_rows(self) -> Iterator[list[str]]:
        """Dtypes with equal counts share a row."""
        checks: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in self.cases:
            failed = f"/{each.failed}" if each.failed else ""
            checks[each.entry, each.dtype].append(f"{each.check}:{each.samples}{failed}")
        rows: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (entry, dtype), counts in checks.items():
            rows[entry, " ".join(sorted(counts))].append(dtype)
        for (entry, text), dtypes in sorted(rows.items()):
            yield [entry, " ".join(sorted(dtypes)), text]

    def _relaxed_rows(self) -> Iterator[list[str]]:
        rows: dict[tuple[str, str, str, int], list[str]] = defaultdict(list)
        for each in self.cases:
            for reason, samples in each.relaxed.items():
                rows[each.entry, each.check, reason, samples].append(each.dtype)
        for (entry, check, reason, samples), dtypes in sorted(rows.items()):
            yield [entry, check, reason, " ".join(sorted(dtypes)), f"{samples}"]


def _operators(results: Results) -> Iterator[Driven]:
    samples: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    routes: dict[str, str] = {}
    dtypes: dict[str, set[str]] = defaultdict(set)
    for _, _, result in results.cases():
        for op, found in result["operators"].items():
            samples[op] += found["samples"]
            failed[op] += found["failed"]
            routes[op] = found["route"]
            dtypes[op].update(found["dtypes"] if not found["failed"] else ())
    for op in sorted(samples):
        yield Driven(op, routes[op], samples[op], failed[op], tuple(sorted(dtypes[op])))


def _counts(text: str) -> tuple[int, int]:
    samples, _, failed = text.partition("/")
    return int(samples), int(failed or 0)


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        yield from rows


def _write(path: Path, heading: Iterable[str], rows: Iterable[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([list(heading), *rows])
