"""Runs the sweep once for all tests of this folder, and gives them its results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torch_neuron_sim

HERE = Path(__file__).parent
# A full run keeps its results in PARITY_RESULTS, and goes on with what they lack; PARITY_SHARD=i/n does a part of it.
RESULTS, SHARD = "PARITY_RESULTS", "PARITY_SHARD"

Findings = Callable[[str], list[Any]]


def _sweep(results: Path, *options: str) -> None:
    package = Path(torch_neuron_sim._C.__file__).parents[1]
    path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(HERE / "sweep.py"), str(results), *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-4000:]


@pytest.fixture(scope="session")
def harness() -> Any:
    """The package ``harness`` beside this file."""
    sys.path.append(str(HERE))
    try:
        import harness.cases
        import harness.page
        import harness.results
        import harness.routes

        return harness
    finally:
        sys.path.remove(str(HERE))


@pytest.fixture(scope="session")
def part(tmp_path_factory: pytest.TempPathFactory, harness: Any) -> Any:
    """Results of the default part: every entry of the databases with one dtype and few samples."""
    folder = tmp_path_factory.mktemp("parity")
    _sweep(folder)
    return harness.results.Results(folder)


@pytest.fixture(scope="session")
def exceptional(tmp_path_factory: pytest.TempPathFactory, harness: Any) -> Any:
    """Results of what exceptions expect to fail, with all samples."""
    folder = tmp_path_factory.mktemp("parity-exceptions")
    _sweep(folder, "--part", "exceptions")
    return harness.results.Results(folder)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory, harness: Any) -> Any:
    """Results of a full run."""
    folder = Path(os.environ.get(RESULTS) or tmp_path_factory.mktemp("parity-full"))
    _sweep(folder, "--part", "full", "--shard", os.environ.get(SHARD, "1/1"))
    return harness.results.Results(folder)
