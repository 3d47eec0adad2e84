"""What a user reads who imports the package where it cannot be the device: the whole message, and what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import torch

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
FakeDistribution = Callable[..., Path]

IMPORT = """
try:
    import torch_neuron_sim
except Exception as error:
    print(f"{type(error).__qualname__}: {error}", end="")
"""


def test_wrong_torch(fresh_python: RunPython, built_for_another_torch: Path) -> None:
    assert fresh_python(IMPORT, path=[built_for_another_torch]).stdout == (
        f"ImportError: torch_neuron_sim was built for torch 2.99, but torch {torch.__version__} is installed: install "
        "torch 2.99, or build again for this torch with 'pip install --no-build-isolation .'"
    )


def test_torch_neuronx_also_installed(fresh_python: RunPython, fake_distribution: FakeDistribution) -> None:
    assert fresh_python(IMPORT, path=[fake_distribution("torch-neuronx")]).stdout == (
        "RealProductInstalled: torch_neuronx is installed, and it provides the device 'neuron' itself: uninstall it "
        "(pip uninstall torch-neuronx), or use torch_neuron_sim in an environment without it"
    )


def test_another_backend_imported_before(fresh_python: RunPython) -> None:
    register = """
import types, torch
torch.utils.rename_privateuse1_backend("openreg")
torch._register_device_module("openreg", types.SimpleNamespace())
"""
    assert fresh_python(register + IMPORT).stdout == (
        "ImportError: another backend has already registered itself as the device 'openreg', and a process can have "
        "only one (PrivateUse1): uninstall that backend, or do not import it here"
    )


def test_source_tree_that_was_not_built(fresh_python: RunPython, built_for_another_torch: Path) -> None:
    package = built_for_another_torch / "torch_neuron_sim"
    for entry in [package / "_build_info.py", *package.glob("_C.*.so")]:
        entry.unlink()
    alone = f"""
import pathlib, sys
sys.path[:] = [entry for entry in sys.path if not pathlib.Path(entry, "torch_neuron_sim").exists()]
sys.path.insert(0, {str(built_for_another_torch)!r})
"""
    assert fresh_python(alone + IMPORT).stdout == (
        f"ImportError: {package} is a source tree without the compiled extension: run Python from another directory to "
        "use the installed package, or build in place with 'python setup.py build_ext --inplace'"
    )


def test_extension_that_is_damaged(fresh_python: RunPython, built_for_another_torch: Path) -> None:
    package = built_for_another_torch / "torch_neuron_sim"
    (package / "_build_info.py").write_text("import torch\nTORCH_VERSION = torch.__version__\n")
    (extension,) = package.glob("_C.*.so")
    extension.unlink()
    extension.write_bytes(b"not a library")
    assert fresh_python(IMPORT, path=[built_for_another_torch]).stdout == (
        f"ImportError: the compiled extension of torch_neuron_sim does not load ({extension}: file too short): install "
        "the package again against this torch with 'pip install --no-build-isolation .'"
    )


def test_the_alias_twice_is_no_mistake(fresh_python: RunPython) -> None:
    code = """
import sys, torch_neuron_sim
torch_neuron_sim.install_alias()
torch_neuron_sim.install_alias()
import torch_neuronx
print(len([finder for finder in sys.meta_path if type(finder).__name__ == "AliasFinder"]), torch_neuronx.__name__)
"""
    done = fresh_python(code, {"TORCH_NEURON_SIM_ALIAS": "1"})
    assert (done.stdout, done.stderr) == ("1 torch_neuronx\n", "")
