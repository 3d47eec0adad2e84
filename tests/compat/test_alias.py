"""``import torch_neuronx``: off unless asked for, last in line, one module for each name."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim.compat.finder import AliasFinder

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def test_without_the_alias_there_is_no_such_module() -> None:
    assert importlib.util.find_spec("torch_neuronx") is None


def test_libraries_that_look_for_the_module_find_it(alias: None) -> None:
    # As accelerate's is_neuron_available and transformers' is_torch_neuron_available do.
    assert importlib.util.find_spec("torch_neuronx") is not None
    assert "torch_neuronx" not in sys.modules, "looking does not import"
    neuron = torch.get_device_module("neuron")
    assert neuron.device_count() > 0
    assert neuron.is_available()


def test_no_distribution_is_made_up(alias: None) -> None:
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("torch-neuronx")


def test_the_finder_is_the_last_and_only_one(alias: None) -> None:
    torch_neuron_sim.install_alias()
    assert isinstance(sys.meta_path[-1], AliasFinder)
    assert sum(isinstance(finder, AliasFinder) for finder in sys.meta_path) == 1


def test_any_other_provider_of_the_module_wins(alias: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch_neuronx").mkdir()
    (tmp_path / "torch_neuronx" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("torch_neuronx").real


def test_submodules_are_the_simulators_own_modules(torch_neuronx: ModuleType) -> None:
    assert torch_neuronx.neuron is torch.get_device_module("neuron")
    for name in ("memory", "streams", "metrics"):
        ours = importlib.import_module(f"torch_neuron_sim.{name}")
        assert importlib.import_module(f"torch_neuronx.{name}") is getattr(torch_neuronx, name) is ours
        assert ours.__name__ == f"torch_neuron_sim.{name}"
        assert ours.__spec__ is not None
        assert ours.__spec__.name == ours.__name__


def test_unknown_names_say_whose_module_it_is(torch_neuronx: ModuleType) -> None:
    assert not hasattr(torch_neuronx, "trace")
    with pytest.raises(AttributeError, match="no attribute 'trace': it is torch_neuron_sim's alias"):
        _ = torch_neuronx.trace
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch_neuronx.xla_impl")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch_neuronx.memory.more")


def test_version_is_the_one_that_pairs_with_this_torch(torch_neuronx: ModuleType) -> None:
    major, minor, *_ = torch.__version__.split(".")
    assert torch_neuronx.__version__ == torch_neuronx._C.version() == f"{major}.{minor}.3.0+sim"


def test_the_environment_installs_it_with_torch(fresh_python: RunPython) -> None:
    code = "import torch_neuron_sim, torch_neuronx; print(torch_neuronx.device_count())"
    done = fresh_python(code, env={"TORCH_NEURON_SIM_ALIAS": "1"})
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
    for value in ("0", ""):
        done = fresh_python(code, env={"TORCH_NEURON_SIM_ALIAS": value})
        assert "No module named 'torch_neuronx'" in done.stderr


def test_a_bad_value_names_variable_and_legal_values(fresh_python: RunPython) -> None:
    done = fresh_python("import torch_neuron_sim", env={"TORCH_NEURON_SIM_ALIAS": "yes"})
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ValueError: TORCH_NEURON_SIM_ALIAS: 'yes' is not a legal value. Legal: 0, 1"
    )
