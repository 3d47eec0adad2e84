"""Runs a program through ``run`` in this process, which is afterwards as it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from torch_neuron_sim.cli import main
from torch_neuron_sim.compat.finder import AliasFinder


@dataclass
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def _restore_interpreter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    argv, path, main_module, environment = sys.argv[:], sys.path[:], sys.modules["__main__"], dict(os.environ)
    modules = set(sys.modules)
    yield
    sys.argv[:], sys.path[:] = argv, path
    sys.modules["__main__"] = main_module
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] == "torch_neuronx" or name.startswith("tns_"):
            del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, AliasFinder)]
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture
def run_cli(_restore_interpreter: None, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """``run_cli("run", "script.py", ...)``: exit code and what was printed; also for bad arguments."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        try:
            code = main(list(arguments))
        except SystemExit as error:
            assert isinstance(error.code, int)
            code = error.code
        return Ran(code, *capfd.readouterr())

    return run


@pytest.fixture
def run_script(run_cli: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """``run_script(code, *arguments, options=("--fallback", "silent"))``: runs ``script.py`` in a folder of its own."""

    def run(code: str, *arguments: str, options: tuple[str, ...] = ()) -> Ran:
        script = tmp_path / "script.py"
        script.write_text(code)
        return run_cli("run", *options, str(script), *arguments)

    return run
