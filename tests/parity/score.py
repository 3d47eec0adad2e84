"""Prints the score of a results folder by dtype and kind of check: ``python tests/parity/score.py RESULTS``."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.results import Results


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = Results(Path(sys.argv[1]))
    rows = ["| dtype | check | entries passed | of | samples passed | of |", "|---|---|--:|--:|--:|--:|"]
    for (dtype, check), count in sorted(results.score().items()):
        passed = count["samples"] - count["failed"]
        rows.append(f"| {dtype} | {check} | {count['passed']} | {count['entries']} | {passed} | {count['samples']} |")
    sys.stdout.write("\n".join(rows) + "\n")
    for finding in results.unexpected():
        sys.stdout.write(f"{finding}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
