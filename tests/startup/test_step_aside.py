"""When the device cannot be provided, ``import torch`` works all the same; an explicit import says what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
FakeDistribution = Callable[..., Path]

NO_DEVICE = """
import sys, torch
assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
assert not hasattr(torch, "neuron") and not hasattr(torch.Tensor, "is_neuron")
assert torch.accelerator.current_accelerator() is None
assert torch._C._get_privateuse1_backend_name() == "privateuseone"
assert "torch_neuron_sim" not in sys.modules
"""

# The text of the error that an explicit import raises, on one line, whatever was imported before and however often.
REFUSAL = """
texts = set()
for _ in range(2):
    try:
        import torch_neuron_sim
    except ImportError as error:
        texts.add(str(error))
    else:
        raise AssertionError("imported")
(text,) = texts
assert "\\n" not in text
print(text)
"""


def warnings_in(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "Warning" in line]


def test_another_torch_is_one_warning_under_autoload(
    autoloading_python: RunPython, built_for_another_torch: Path
) -> None:
    done = autoloading_python(NO_DEVICE + REFUSAL, path=[built_for_another_torch])
    assert done.returncode == 0, done.stderr
    (warning,) = warnings_in(done)
    for text in (warning, done.stdout):
        assert "built for torch 2.99" in text
        assert "pip install" in text
    assert "steps aside" in warning


def test_another_torch_is_an_import_error(fresh_python: RunPython, built_for_another_torch: Path) -> None:
    done = fresh_python(REFUSAL, path=[built_for_another_torch])
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "built for torch 2.99" in done.stdout
    assert "install torch 2.99, or build again" in done.stdout


def test_real_product_makes_us_step_aside_in_silence(
    autoloading_python: RunPython, fake_distribution: FakeDistribution
) -> None:
    done = autoloading_python(NO_DEVICE + REFUSAL, path=[fake_distribution("torch-neuronx")])
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "torch_neuronx is installed" in done.stdout


@pytest.mark.parametrize(("package", "metadata"), [(True, True), (True, False), (False, True)])
def test_real_product_is_an_import_error(
    fresh_python: RunPython, fake_distribution: FakeDistribution, package: bool, metadata: bool
) -> None:
    done = fresh_python(REFUSAL + NO_DEVICE, path=[fake_distribution("torch-neuronx", package, metadata)])
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "torch_neuronx is installed" in done.stdout
    assert "pip uninstall" in done.stdout


def test_real_product_is_never_imported_by_us(fresh_python: RunPython, fake_distribution: FakeDistribution) -> None:
    folder = fake_distribution("torch-neuronx", code="raise SystemExit('imported')")
    done = fresh_python(REFUSAL, path=[folder])
    assert done.returncode == 0, done.stderr
    assert "torch_neuronx is installed" in done.stdout


def test_names_that_only_resemble_the_real_product_do_not_matter(
    fresh_python: RunPython, fake_distribution: FakeDistribution
) -> None:
    folder = fake_distribution("torch-neuron")
    (folder / "torch_neuronx").mkdir()  # a folder without code is no installed package
    done = fresh_python("import torch, torch_neuron_sim\ntorch.ones(2, device='neuron')", path=[folder])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["openreg", "neuron"])
def test_another_backend_is_an_import_error(fresh_python: RunPython, name: str) -> None:
    code = f"""
import types, torch
torch.utils.rename_privateuse1_backend({name!r})
torch._register_device_module({name!r}, types.SimpleNamespace())
"""
    done = fresh_python(code + REFUSAL)
    assert done.returncode == 0, done.stderr
    assert f"another backend has already registered itself as the device '{name}'" in done.stdout


def test_a_source_tree_without_the_extension_says_how_to_build_it(
    fresh_python: RunPython, built_for_another_torch: Path
) -> None:
    for entry in (built_for_another_torch / "torch_neuron_sim").iterdir():
        if entry.name == "_build_info.py" or entry.name.startswith("_C."):
            entry.unlink()
    # Away from any other copy, which such a tree would use.
    isolate = f"""
import pathlib, sys
others = [entry for entry in sys.path if not pathlib.Path(entry, "torch_neuron_sim").exists()]
sys.path[:] = [{str(built_for_another_torch)!r}, *others]
"""
    done = fresh_python(isolate + REFUSAL)
    assert done.returncode == 0, done.stderr
    assert "without the compiled extension" in done.stdout
    assert "build_ext --inplace" in done.stdout


def test_an_extension_that_does_not_load_says_to_install_again(
    fresh_python: RunPython, built_for_another_torch: Path
) -> None:
    package = built_for_another_torch / "torch_neuron_sim"
    (package / "_build_info.py").write_text("import torch\nTORCH_VERSION = torch.__version__\n")
    for extension in package.glob("_C.*.so"):
        extension.unlink()
        extension.write_bytes(b"not a library")
    done = fresh_python(REFUSAL, path=[built_for_another_torch])
    assert done.returncode == 0, done.stderr
    assert "extension of torch_neuron_sim does not load" in done.stdout
    assert "pip install --no-build-isolation ." in done.stdout
