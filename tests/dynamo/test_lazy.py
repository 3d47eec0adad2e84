"""PyTorch's compiler is told of the device when a program imports it, not before."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import pytest

from torch_neuron_sim import dynamo
from torch_neuron_sim.import_hook import when_imported

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def test_import_leaves_the_compiler_alone_and_the_backend_is_known_later(fresh_python: RunPython) -> None:
    code = """
import sys
import torch_neuron_sim
assert not {"torch._dynamo", "torch._inductor"} & set(sys.modules)
import torch
assert "neuron" in torch._dynamo.list_backends()
x = torch.ones(2, device="neuron")
print(torch.compile(lambda x: x + 1, backend="neuron")(x).tolist())
import torch._inductor.compile_fx
assert torch._inductor.compile_fx.__spec__.loader is torch._inductor.compile_fx.__loader__
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("torch_neuron_sim")]
"""
    done = fresh_python(code)
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0]\n"), done.stderr
    assert done.stderr.count("CompileWarning") == 1


TOLD_AT_ONCE = """
import torch, torch._dynamo
import torch_neuron_sim
x = torch.ones(2, device="neuron")
print(torch._dynamo.list_backends().count("neuron"), torch.compile(lambda x: x + 1, backend="neuron")(x).tolist())
"""

# The entry point is loaded by a program that has not imported the package.
BY_ENTRY_POINT = """
import torch
compiled = torch.compile(lambda x: x + 1, backend="neuron")
print(torch._dynamo.list_backends().count("neuron"), compiled(torch.ones(2, device="neuron")).tolist())
"""


@pytest.mark.parametrize(("code", "installed"), [(TOLD_AT_ONCE, False), (TOLD_AT_ONCE, True), (BY_ENTRY_POINT, True)])
def test_a_compiler_that_is_imported_already_knows_the_backend_once(
    fresh_python: RunPython, tmp_path: Path, code: str, installed: bool
) -> None:
    if installed:
        folder = tmp_path / "another_name-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: another_name\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text("[torch_dynamo_backends]\nneuron = torch_neuron_sim.dynamo:neuron\n")
    done = fresh_python(code, path=[tmp_path])
    assert (done.returncode, done.stdout) == (0, "1 [2.0, 2.0]\n"), done.stderr


def test_the_installed_package_names_the_backend() -> None:
    found = [point for point in entry_points(group="torch_dynamo_backends") if point.name == "neuron"]
    if not found:
        pytest.skip("torch_neuron_sim is on the path but not installed: it has no entry points")
    assert found[0].load() is dynamo.neuron


def test_hook_acts_once_after_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tns_hooked.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[int] = []

    def act(module: ModuleType) -> None:
        seen.append(module.value)

    when_imported("tns_hooked", act)
    assert seen == []
    for _ in range(2):
        module = importlib.import_module("tns_hooked")
        assert seen == [1]
    when_imported("tns_hooked", act)
    assert seen == [1, 1]
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__
    del sys.modules["tns_hooked"]


def test_hook_waits_for_an_import_that_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[str] = []
    when_imported("tns_hooked_later", lambda module: seen.append(module.__name__))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tns_hooked_later")
    file = tmp_path / "tns_hooked_later.py"
    file.write_text("raise ImportError('not yet')\n")
    importlib.invalidate_caches()
    with pytest.raises(ImportError, match="not yet"):
        importlib.import_module("tns_hooked_later")
    assert seen == []
    file.write_text("value = 'a text of another length'\n")
    importlib.import_module("tns_hooked_later")
    assert seen == ["tns_hooked_later"]
    del sys.modules["tns_hooked_later"]
