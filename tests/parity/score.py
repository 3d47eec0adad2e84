"""Prints the score of a results folder by dtype and kind of check: ``python tests/parity/score.py RESULTS``."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.exceptions import Exceptions
from harness.results import Results, relaxations, score


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = Results(Path(sys.argv[1]))
    rows = ["| dtype | check | cases passed | of | samples passed | of | less strictly compared |"]
    rows += ["|---|---|--:|--:|--:|--:|--:|"]
    for (dtype, check), count in sorted(score(results.findings()).items()):
        passed = count["samples"] - count["failed"]
        cells = dtype, check, count["passed"], count["cases"], passed, count["samples"], count["relaxed"]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    sys.stdout.write("\n".join(rows) + "\n")
    for reason, samples in relaxations(results.findings()).most_common():
        sys.stdout.write(f"{samples} samples compared less strictly than by equal bits: {reason}\n")
    sys.stdout.write(f"{len(Exceptions.load().entries)} exceptions\n")
    for finding in results.unexpected():
        sys.stdout.write(f"{finding}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
