"""Runs the parity suite without pytest, in shards that can be resumed.

    python tests/parity/sweep.py RESULTS [--part full] [--shard 1/4] [--dtypes float32,int64] [--only NAME]

A results folder holds one JSON file for each entry of the databases; what it already has is not run again.
``score.py`` prints what it says, ``publish.py`` makes docs/op-coverage.md of it.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

# The checks of forward mode import it, which compiles: children find that done.
import torch._decomp.decompositions_for_jvp

# A process with threads of its own cannot be forked from safely; and one thread adds in one order.
torch.set_num_threads(1)

from harness import pool  # noqa: E402
from harness.cases import Case, all_cases, expected_to_fail, stratified  # noqa: E402
from harness.results import Results  # noqa: E402

import torch_neuron_sim  # noqa: E402
from torch_neuron_sim import _C  # noqa: E402


def _chosen(options: argparse.Namespace, results: Results) -> Iterator[list[Case]]:
    part, parts = map(int, options.shard.split("/"))
    dtypes = [dtype for dtype in options.dtypes.split(",") if dtype]
    chosen = {
        "default": lambda: stratified(options.samples or 2),
        "full": lambda: all_cases(options.samples, dtypes),
        "exceptions": expected_to_fail,
    }
    for index, (entry, cases) in enumerate(chosen[options.part]().items()):
        if index % parts != part - 1 or entry.database not in options.databases.split(","):
            continue
        if options.only and options.only not in entry.key:
            continue
        finished = results.dtypes_done(entry.key)
        left = [case for case in cases if case.dtype not in finished]
        if left:
            yield left


def _grouped(groups: Iterable[list[Case]], size: int) -> Iterator[list[Case]]:
    """Joins groups until they have ``size`` cases: to start a child costs as much as a small case."""
    joined: list[Case] = []
    for group in groups:
        joined += group
        if len(joined) >= size:
            yield joined
            joined = []
    if joined:
        yield joined


def _commit() -> str:
    """The commit of this source tree, with a + if files differ from it; empty outside of a repository."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        except FileNotFoundError:
            return ""

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def _describe(options: argparse.Namespace, results: Results) -> None:
    """Writes what was run, with what."""
    described = {
        "torch": torch.__version__,
        "version": torch_neuron_sim.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "part": options.part,
        "samples": options.samples,
        "seconds": round(sum(result["seconds"] for _, _, result in results.cases()), 1),
    }
    (results.folder / "run.json").write_text(json.dumps(described, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder for the results; those it has are kept")
    parser.add_argument("--part", choices=("default", "full", "exceptions"), default="default")
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

    pool.run(_grouped(_chosen(options, results), 8), options.jobs, options.timeout, done)
    _describe(options, results)
    return 1 if results.unexpected() else 0


if __name__ == "__main__":
    sys.exit(main())
