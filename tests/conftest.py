"""What every test may use, and the state that every test leaves behind as it found it."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map_only

import torch_neuron_sim
from torch_neuron_sim import _C

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _restore_process_state() -> Iterator[None]:
    yield
    torch_neuron_sim.fallback_policy("warn")
    torch_neuron_sim.float64_policy("warn")
    torch_neuron_sim.rng_mode("shared")
    torch.accelerator.set_device_index(0)
    torch_neuron_sim.clear_op_tracking()


@pytest.fixture
def run_python() -> RunPython:
    """Runs code in a fresh interpreter: ``run_python(code, env={...}, timeout=60)``; returns the completed process."""

    def run(
        code: str, env: Mapping[str, str | None] | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        merged = dict(os.environ)
        for name, value in (env or {}).items():
            if value is None:
                merged.pop(name, None)
            else:
                merged[name] = value
        return subprocess.run(
            [sys.executable, "-c", code],
            env=merged,
            timeout=timeout,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run


# Imports torch once, and forks a process for each request, which has yet to import torch_neuron_sim.
_FRESH_PYTHON = """
import json, os, signal, sys, traceback
import torch
for line in sys.stdin:
    request = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.environ.update(request["env"])
        sys.path[:0] = request["path"]
        for descriptor, path in ((1, request["out"]), (2, request["err"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
        signal.alarm(180)
        status = 0
        try:
            exec(request["code"], {"__name__": "__main__"})
        except SystemExit:
            raise
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def fresh_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunPython]:
    """``fresh_python(code, env={...}, path=[...])``: runs code where torch is imported, torch_neuron_sim is not, and no
    variable of ours is set but those given; folders of ``path`` are searched first. Returns the completed process; its
    return code is -n when signal n ended it. Much faster than run_python. The process ends without the interpreter's
    clean-up, unless the code calls ``sys.exit()``.
    """
    directory = tmp_path_factory.mktemp("fresh_python")
    package = Path(torch_neuron_sim.__file__).parent.parent
    ours = ("TORCH_NEURON_SIM_", "NEURON_", "TORCH_NEURONX_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONSAFEPATH": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(package), *filter(None, [environment.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-c", _FRESH_PYTHON], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        requests, answers, count = server.stdin, server.stdout, 0

        def run(
            code: str, env: Mapping[str, str] | None = None, path: Sequence[Path] = ()
        ) -> subprocess.CompletedProcess[str]:
            nonlocal count
            count += 1
            out, err = directory / f"{count}.out", directory / f"{count}.err"
            request = {"code": code, "env": dict(env or {}), "path": [str(folder) for folder in path]}
            requests.write(json.dumps({**request, "out": str(out), "err": str(err)}) + "\n")
            requests.flush()
            status = int(answers.readline())
            return subprocess.CompletedProcess(code, status, out.read_text(), err.read_text())

        yield run


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
def fake_distribution(tmp_path: Path) -> Callable[..., Path]:
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


@pytest.fixture
def allocated() -> Callable[..., int]:
    """``allocated(device=0)``: bytes that tensors of a device hold, without what only waited for the collector."""
    gc.collect()

    def read(device: int = 0) -> int:
        return torch.get_device_module("neuron").memory_allocated(device)

    return read


def _copy(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A copy on ``device`` with the same strides, offset, conj and neg bits and requires_grad."""
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    made = whole.clone().to(device).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    made = torch._conj(made) if tensor.is_conj() else made
    made = torch._neg_view(made) if tensor.is_neg() else made
    return made.requires_grad_(tensor.requires_grad)


def _assert_same(neuron: Any, cpu: Any, what: str) -> None:
    """Equal dtype, sizes, strides and bits for tensors, and for whatever holds tensors; equal values for the rest."""
    ours, structure = tree_flatten(neuron)
    theirs, expected_structure = tree_flatten(cpu)
    assert structure == expected_structure, what
    for one, other in zip(ours, theirs, strict=True):
        if not isinstance(other, torch.Tensor):
            assert one == other, what
            continue
        assert one.device.type == "neuron", what
        found, wanted = ((t.dtype, t.shape, t.stride(), t.requires_grad) for t in (one, other))
        assert found == wanted, what
        bits, expected = (
            t.detach().cpu().resolve_conj().resolve_neg().flatten().clone(memory_format=torch.contiguous_format)
            for t in (one, other)
        )
        if not torch.equal(bits.view(torch.uint8), expected.view(torch.uint8)):
            torch.testing.assert_close(
                bits, expected, rtol=0, atol=0, equal_nan=True, msg=lambda text: f"{what}: {text}"
            )
            raise AssertionError(f"{what}: equal values with different bits (signed zeros or kinds of nan)")


@pytest.fixture(scope="session")
def same_as_cpu() -> Callable[..., Any]:
    """``same_as_cpu(function, *arguments)``: on neuron tensors, ``function`` gives the bits it gives on CPU tensors.

    Compared are what it returns, what it leaves in its tensor arguments, and gradients where a result requires them.
    Every run gets copies of the arguments and the same seed. Returns what the run on the device returned.
    """

    def gradients(outputs: Any, arguments: Any) -> tuple[torch.Tensor | None, ...] | None:
        results = [t for t in tree_flatten(outputs)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        leaves = [t for t in tree_flatten(arguments)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        if not results or not leaves:
            return None
        seeds = [torch.arange(t.numel()).cos().reshape(t.shape).to(t.dtype).to(t.device) for t in results]
        return torch.autograd.grad(results, leaves, seeds, allow_unused=True)

    def run(function: Callable[..., Any], arguments: Any, device: str) -> tuple[Any, Any, Any]:
        copies = tree_map_only(torch.Tensor, lambda tensor: _copy(tensor, device), arguments)
        torch.manual_seed(0)
        outputs = function(*copies)
        return outputs, copies, gradients(outputs, copies)

    def compare(function: Callable[..., Any], *arguments: Any) -> Any:
        expected = run(function, arguments, "cpu")
        found = run(function, arguments, "neuron")
        for one, other, what in zip(found, expected, ("result", "arguments", "gradients"), strict=True):
            _assert_same(one, other, what)
        return found[0]

    return compare
