"""Every way to get the device: torch loads it, or the program does, before or after torch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

USE = """
import torch
tensor = torch.ones(3, device="neuron") + 1
assert tensor.tolist() == [2, 2, 2] and tensor.device == torch.device("neuron:0")
assert torch.neuron.is_available() and torch.accelerator.current_accelerator() == torch.device("neuron")
"""

NO_DEVICE = """
import torch
assert torch.ones(3).sum() == 3
assert not hasattr(torch, "neuron") and torch.accelerator.current_accelerator() is None
assert torch._C._get_privateuse1_backend_name() == "privateuseone"
try:
    torch.ones(3, device="neuron")
except RuntimeError:
    pass
else:
    raise AssertionError("there is a device neuron")
"""


def ends_well(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


def test_import_torch_is_enough(autoloading_python: RunPython) -> None:
    code = 'import sys, torch\nassert "torch_neuron_sim" in sys.modules\n' + USE
    ends_well(autoloading_python(code))


@pytest.mark.parametrize(
    "imports",
    ["import torch_neuron_sim", "import torch, torch_neuron_sim", "import torch_neuron_sim, torch, torch_neuron_sim"],
)
def test_explicit_import_changes_nothing_where_torch_loads_it(autoloading_python: RunPython, imports: str) -> None:
    code = f"{imports}\nimport sys\nassert torch_neuron_sim is sys.modules['torch_neuron_sim']\n{USE}"
    ends_well(autoloading_python(code + "assert torch_neuron_sim.get_executed_ops()"))


@pytest.mark.parametrize(
    "imports",
    [
        "import torch_neuron_sim",
        "import torch, torch_neuron_sim",
        "from torch_neuron_sim import neuron",
        "import torch_neuron_sim.coverage",
    ],
)
def test_explicit_import_is_enough_where_torch_may_not_load_it(fresh_python: RunPython, imports: str) -> None:
    ends_well(fresh_python(f"{imports}\n{USE}"))


def test_explicit_import_imports_torch_where_torch_may_not_load_it(start_python: RunPython) -> None:
    ends_well(start_python(f"import torch_neuron_sim\n{USE}", {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))


def test_switch_of_torch_keeps_the_device_away(start_python: RunPython) -> None:
    code = 'import sys, torch\nassert "torch_neuron_sim" not in sys.modules\n' + NO_DEVICE
    ends_well(start_python(code, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))


def test_tensor_module_and_storage_methods_exist(fresh_python: RunPython) -> None:
    code = """
import torch, torch_neuron_sim
assert torch.ones(2).neuron().is_neuron and not torch.ones(2).is_neuron
assert torch.nn.Linear(2, 2).neuron().weight.is_neuron
assert torch.ones(2).neuron().untyped_storage().is_neuron
"""
    ends_well(fresh_python(code))


def test_import_does_not_start_the_runtime(fresh_python: RunPython) -> None:
    code = """
import torch, torch_neuron_sim
assert not torch.neuron.is_initialized()
torch.neuron.device_count(), torch.neuron.is_available(), torch.device("neuron", 1), torch.manual_seed(3)
assert not torch.neuron.is_initialized()
torch.empty(1, device="neuron")
assert torch.neuron.is_initialized()
"""
    ends_well(fresh_python(code))


def test_import_leaves_environment_and_random_state_alone(fresh_python: RunPython) -> None:
    code = """
import os, torch
environment, state = dict(os.environ), torch.get_rng_state()
import torch_neuron_sim
assert dict(os.environ) == environment
assert torch.equal(torch.get_rng_state(), state)
"""
    ends_well(fresh_python(code))


def test_import_is_cheap(fresh_python: RunPython) -> None:
    """Of what torch has not imported itself, only what is small."""
    code = """
import sys, torch
before = set(sys.modules)
import torch_neuron_sim
new = {name for name in set(sys.modules) - before if not name.startswith("torch_neuron_sim")}
heavy = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.onnx", "torch.distributed", "torch.testing",
         "torch.utils.cpp_extension", "numpy", "sympy", "pandas", "matplotlib", "setuptools", "pkg_resources",
         "unittest", "pytest", "html", "email", "http", "asyncio", "multiprocessing", "xml", "sqlite3")
assert not [name for name in new if name.startswith(heavy)], sorted(new)
assert len(new) < 10, sorted(new)
"""
    ends_well(fresh_python(code))
