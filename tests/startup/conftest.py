"""Packages that stand in for others, and interpreters in which torch loads the simulator by itself, or may not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import torch_neuron_sim
from torch_neuron_sim import _C

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
FakeDistribution = Callable[..., Path]

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


@pytest.fixture
def built_for_another_torch(tmp_path: Path) -> Path:
    """A folder with this package, as if built for torch 2.99."""
    folder = tmp_path / "built_for_another_torch"
    package = folder / "torch_neuron_sim"
    package.mkdir(parents=True)
    sources = {entry.name: entry for entry in Path(torch_neuron_sim.__file__).parent.iterdir()}
    sources.update((entry.name, entry) for entry in Path(_C.__file__).parent.iterdir())
    for name in sources.keys() - {"__pycache__", "_build_info.py"}:
        (package / name).symlink_to(sources[name])
    (package / "_build_info.py").write_text('TORCH_VERSION = "2.99.0+cpu"\n')
    return folder


@pytest.fixture
def fake_distribution(tmp_path: Path) -> FakeDistribution:
    """``fake_distribution("torch-neuronx", package=True, metadata=True)``: a folder with an installed distribution."""

    def make(name: str, package: bool = True, metadata: bool = True, code: str = "") -> Path:
        folder, module = tmp_path / "fake", name.replace("-", "_")
        folder.mkdir(exist_ok=True)
        if package:
            (folder / module).mkdir()
            (folder / module / "__init__.py").write_text(code)
        if metadata:
            info = folder / f"{module}-2.13.3.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.13.3.0\n")
        return folder

    return make
