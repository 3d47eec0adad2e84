"""The cache file: written only where the user asked for it, found by a later process, safe beside others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_neuron_sim import _C, compile_cache

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

# Four programs: ones, mm, relu, sum. The second product is a hit in memory.
PROGRAM = """
import sys, torch, torch_neuron_sim
from torch_neuron_sim import metrics
x = torch.ones(3, 3, device="neuron")
((x @ x).relu() + 0 * (x @ x)).sum()
values = metrics.get_compilation_metrics()
print(*(values["CompilationCache." + name] for name in ("TotalCompilations", "PersistentHits", "PersistentMisses")))
sys.exit()
"""


@pytest.fixture
def counted(fresh_python: RunPython, tmp_path: Path) -> Callable[..., tuple[list[int], str]]:
    """Runs the program with the cache in ``folder``: compilations, hits and misses on disk; and its stderr."""

    def run(folder: Path = tmp_path / "cache", **variables: str) -> tuple[list[int], str]:
        env = {"TORCH_NEURONX_NEFF_CACHE_DIR": str(folder), "TORCH_NEURONX_METRICS_ENABLED": "1", **variables}
        done = fresh_python(PROGRAM, env=env)
        assert done.returncode == 0, done.stderr
        return [int(text) for text in done.stdout.split()], done.stderr

    return run


Counted = Callable[..., tuple[list[int], str]]


def test_a_later_process_finds_what_an_earlier_one_compiled(counted: Counted, tmp_path: Path) -> None:
    (compiled, hits, misses), _ = counted()
    assert compiled == misses > 0
    assert hits == 0
    assert counted()[0] == [0, compiled, 0]
    data = json.loads((tmp_path / "cache" / compile_cache.FILE).read_text())
    assert (data["schema"], data["schema_version"]) == (compile_cache.SCHEMA, compile_cache.SCHEMA_VERSION)
    ((compiler, hashes),) = data["programs"].items()
    assert len(hashes) == len(set(hashes)) == compiled
    assert _C.topology()["chip"] in compiler
    assert "NEURON_CC_FLAGS=" in compiler


def test_other_compiler_flags_and_chips_are_other_programs(counted: Counted) -> None:
    (compiled, *_), _ = counted()
    for variables in ({"NEURON_CC_FLAGS": "-O2"}, {"TORCH_NEURON_SIM_INSTANCE": "trn3-gen1"}):
        assert counted(**variables)[0] == [compiled, 0, compiled]
        assert counted(**variables)[0] == [0, compiled, 0]
    assert counted()[0] == [0, compiled, 0]


def test_without_the_variable_nothing_is_written(counted: Counted, tmp_path: Path) -> None:
    (compiled, hits, misses), err = counted(TORCH_NEURONX_NEFF_CACHE_DIR="")
    assert compiled > 0
    assert hits == misses == 0
    assert list(tmp_path.iterdir()) == []
    assert "Warning" not in err


@pytest.mark.parametrize("variable", compile_cache.DISABLE)
def test_disabled_every_call_compiles_and_nothing_is_written(counted: Counted, tmp_path: Path, variable: str) -> None:
    (usual, *_), _ = counted(TORCH_NEURONX_NEFF_CACHE_DIR="")
    (compiled, hits, misses), _ = counted(**{variable: "1"})
    assert compiled > usual, "the second product, too"
    assert hits == misses == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("place", ["real.neff", "ab/cd/0123456789abcdef0123456789abcdef.neff"])
def test_a_folder_of_the_real_product_is_left_alone(counted: Counted, tmp_path: Path, place: str) -> None:
    artifact = tmp_path / "cache" / place
    artifact.parent.mkdir(parents=True)
    artifact.write_bytes(b"NEFF")
    (_, hits, misses), err = counted()
    assert hits == misses == 0
    assert err.count("CompileCacheWarning: TORCH_NEURONX_NEFF_CACHE_DIR: the compile cache is not kept on disk") == 1
    assert "holds compiled programs of the real device" in err
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [artifact]


def test_a_folder_that_cannot_be_made_is_a_warning(counted: Counted, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (compiled, hits, misses), err = counted(tmp_path / "file" / "cache")
    assert compiled > 0
    assert hits == misses == 0
    assert err.count("CompileCacheWarning") == 1
    assert "Not a directory" in err


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "torch_neuron_sim.programs", "schema_version": 2}', "[1]"])
def test_a_file_of_another_kind_is_neither_used_nor_overwritten(counted: Counted, tmp_path: Path, content: str) -> None:
    file = tmp_path / "cache" / compile_cache.FILE
    file.parent.mkdir()
    file.write_text(content)
    _, err = counted()
    assert err.count("CompileCacheWarning") == 1
    assert "is no cache file of this version" in err
    assert file.read_text() == content


def test_processes_that_end_together_lose_nothing(fresh_python: RunPython, tmp_path: Path) -> None:
    code = """
import os, types
from torch_neuron_sim import _C, compile_cache
for child in range(4):
    if os.fork() == 0:
        for number in range(10):
            compile_cache._C = types.SimpleNamespace(compile_cache_hashes=lambda: [100 * child + number])
            compile_cache.save()
        os._exit(0)
for _ in range(4):
    assert os.wait()[1] == 0
"""
    done = fresh_python(code, env={"TORCH_NEURONX_NEFF_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    (hashes,) = json.loads((tmp_path / compile_cache.FILE).read_text())["programs"].values()
    assert {int(text, 16) for text in hashes} == {100 * child + number for child in range(4) for number in range(10)}
    assert {path.name for path in tmp_path.iterdir()} == {
        compile_cache.FILE,
        Path(compile_cache.FILE).with_suffix(".lock").name,
    }


def test_a_limit_evicts(fresh_python: RunPython) -> None:
    code = """
import torch, torch_neuron_sim
from torch_neuron_sim import _C
x = torch.ones(3, device="neuron")
for _ in range(3):
    x.relu(), x.sin(), x.cos()
stats = _C.compile_cache_stats()
print(stats["total_entries"], stats["evictions"] > 4, stats["total_compilations"] >= 9)
"""
    done = fresh_python(code, env={"NEURON_COMPILATION_CACHE_MAX_ENTRIES": "2"})
    assert done.stdout == "2 True True\n", done.stderr


@pytest.mark.parametrize("value", ["-1", "many", "1.5"])
def test_a_bad_limit_names_the_variable(fresh_python: RunPython, value: str) -> None:
    done = fresh_python("import torch_neuron_sim", env={"NEURON_COMPILATION_CACHE_MAX_ENTRIES": value})
    assert done.stderr.splitlines()[-1] == (
        f"ValueError: NEURON_COMPILATION_CACHE_MAX_ENTRIES: {value!r} is not a legal value. Legal: a whole number; 0 "
        "means no limit"
    )
