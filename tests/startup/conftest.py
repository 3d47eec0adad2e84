"""Interpreters in which torch loads the simulator by itself, or may not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import torch_neuron_sim

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

_VARIABLES = ("TORCH_NEURON_SIM_", "TORCH_NEURONX_", "NEURON_", "TORCH_DEVICE_BACKEND_AUTOLOAD")


def _installed() -> bool:
    try:
        distribution("torch_neuron_sim")
    except PackageNotFoundError:
        return False
    return True


@pytest.fixture
def start_python(run_python: RunPython) -> RunPython:
    """``start_python(code, env={...}, path=[...])``: a fresh interpreter in which no variable of ours is set but those
    given, and folders of ``path`` are searched first.
    """

    def start(
        code: str, env: Mapping[str, str | None] | None = None, path: list[Path] | None = None
    ) -> subprocess.CompletedProcess[str]:
        clean: dict[str, str | None] = {name: None for name in os.environ if name.startswith(_VARIABLES)}
        ours = Path(torch_neuron_sim.__file__).parent.parent
        folders = [*(path or []), ours, *filter(None, [os.environ.get("PYTHONPATH")])]
        # Without the working directory in front: it would hide the folders given.
        search = {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTHONSAFEPATH": "1"}
        return run_python(code, env={**clean, **search, **(env or {})})

    return start


@pytest.fixture
def autoloading_python(start_python: RunPython) -> RunPython:
    """The same, where ``import torch`` loads the simulator."""
    if not _installed():
        pytest.skip("torch_neuron_sim is on the path but not installed: torch finds no entry point to load it by")
    return start_python
