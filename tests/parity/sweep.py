"""Runs the parity suite without pytest, in shards that can be resumed.

    python tests/parity/sweep.py RESULTS [--part full] [--shard 1/4] [--dtypes float32,int64] [--only NAME]

A results folder holds one JSON file for each entry of the databases; what it already has is not run again.
``score.py`` prints what it says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

# A process with threads of its own cannot be forked from safely; and one thread adds in one order.
torch.set_num_threads(1)

from harness import pool  # noqa: E402
from harness.cases import Case, all_cases, stratified  # noqa: E402
from harness.results import Results  # noqa: E402

from torch_neuron_sim import _C  # noqa: E402


def _chosen(options: argparse.Namespace, results: Results) -> Iterator[Case]:
    part, parts = map(int, options.shard.split("/"))
    dtypes = [dtype for dtype in options.dtypes.split(",") if dtype]
    table = all_cases(options.samples, dtypes) if options.part == "full" else stratified(options.samples or 2)
    for index, (entry, cases) in enumerate(table.items()):
        if index % parts != part - 1 or entry.database not in options.databases.split(","):
            continue
        if options.only and options.only not in entry.key:
            continue
        finished = results.dtypes_done(entry.key)
        yield from (case for case in cases if case.dtype not in finished)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder for the results; those it has are kept")
    parser.add_argument("--part", choices=("default", "full"), default="default")
    parser.add_argument("--databases", default="operators,foreach,modules,optimizers")
    parser.add_argument("--dtypes", default="", help="dtypes of a full run, separated by commas (default: all)")
    parser.add_argument("--only", default="", help="only entries whose key contains this")
    parser.add_argument("--samples", type=int, help="samples of each entry (default: 2 in the default part, else all)")
    parser.add_argument("--shard", default="1/1", help="the i-th of n parts, as i/n")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one entry with one dtype")
    options = parser.parse_args()
    results = Results(options.results)
    assert not _C.is_initialized(), "the parent must not use the device: a forked child could not"

    def done(case: Case, result: dict[str, Any]) -> None:
        results.add(case.entry.key, case.dtype, result)
        failed = [name for name, kind in result["kinds"].items() if kind["failed"]]
        if failed:
            sys.stderr.write(f"{case.entry.key} {case.dtype}: {', '.join(failed)}\n")

    pool.run(_chosen(options, results), options.jobs, options.timeout, done)
    return 1 if results.unexpected() else 0


if __name__ == "__main__":
    sys.exit(main())
