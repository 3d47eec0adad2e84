"""load_coverage and TORCH_NEURON_SIM_COVERAGE, in processes of their own: a table holds for a whole process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torch_neuron_sim

RunPython = Callable[..., Any]

HEADER = "op\troute\trecorded_as\trefuses\tsource"
# Prints, as JSON, the table's name and what a few ops were recorded as.
REPORT = """
import json, warnings, torch, torch_neuron_sim as t
warnings.simplefilter("ignore")
{load}
x = torch.ones(4, 4, device="neuron")
t.clear_op_tracking()
x @ x, x.relu(), x.argmax(), x.int() + 1, torch.randn(2, device="neuron"), x + 1
torch.view_as_complex(x.view(8, 2)) * 1j, x.double() * 2
routes = [row.route for row in t.op_report().rows]
print(json.dumps([t.coverage_name(), t.get_executed_ops(), t.get_fallback_ops(), routes]))
"""


def run(run_python: RunPython, load: str = "", **environment: str) -> tuple[str, list[str], list[str], list[str]]:
    done = run_python(REPORT.format(load=load), env=environment)
    assert done.returncode == 0, done.stderr
    name, executed, fallbacks, routes = json.loads(done.stdout)
    return name, executed, fallbacks, routes


def test_all_makes_every_op_native(run_python: RunPython) -> None:
    name, executed, fallbacks, routes = run(run_python, 't.load_coverage("all")')
    assert name == "all"
    assert fallbacks == []
    assert {"aten::argmax", "aten::normal_", "aten::mul.Tensor", "aten::mm"} <= set(executed)
    assert set(routes) == {"native", "float64"}


def test_users_table_decides(run_python: RunPython, tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text(
        f"{HEADER}\naten::mm\tfallback\taten::mm.out\t\t\naten::add.Tensor\tnative\t\tint32\t\n"
        "aten::relu\tunsupported\t\t\t\naten::argmax\tnative\t\t\t\n",
        encoding="utf-8",
    )
    name, executed, fallbacks, routes = run(run_python, TORCH_NEURON_SIM_COVERAGE=str(path))
    assert name == str(path)
    assert fallbacks[:2] == ["aten::mm.out", "aten::add.Tensor"]
    assert "aten::normal_" in fallbacks  # an op of aten without a row falls back
    assert {"aten::argmax", "aten::add.Tensor"} <= set(executed)  # add of float32 is native
    assert "unsupported" in routes
    # Allocation, copies and views are native unless the table has a row for them.
    assert "aten::copy_" in executed
    assert "aten::empty.memory_format" not in fallbacks


def test_bad_environment_stops_the_import(run_python: RunPython, tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(f"{HEADER}\naten::mm\tfast\t\t\t\n", encoding="utf-8")
    code = "import os\nos.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'\nimport torch_neuron_sim"
    done = run_python(code, env={"TORCH_NEURON_SIM_COVERAGE": str(path)})
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        f"ValueError: TORCH_NEURON_SIM_COVERAGE: {path}:2: unknown route 'fast'"
    )


def test_environment_is_read_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_neuron_sim import coverage

    monkeypatch.delenv("TORCH_NEURON_SIM_COVERAGE", raising=False)
    assert coverage.table_from_environment().name == "snapshot-2026-04"
    monkeypatch.setenv("TORCH_NEURON_SIM_COVERAGE", "")
    assert coverage.table_from_environment().name == "snapshot-2026-04"
    monkeypatch.setenv("TORCH_NEURON_SIM_COVERAGE", "all")
    assert coverage.table_from_environment().name == "all"
    monkeypatch.setenv("TORCH_NEURON_SIM_COVERAGE", "everything")
    with pytest.raises(
        ValueError, match=r"TORCH_NEURON_SIM_COVERAGE: there is no coverage table 'everything'.*all, snapshot"
    ):
        coverage.table_from_environment()


def test_loading_after_a_tensor_exists_raises_and_changes_nothing() -> None:
    torch.ones(1, device="neuron")
    for name in ("all", "snapshot-2026-04"):
        with pytest.raises(
            RuntimeError, match=r"load_coverage: a neuron tensor already exists.*TORCH_NEURON_SIM_COVERAGE"
        ):
            torch_neuron_sim.load_coverage(name)
    assert torch_neuron_sim.coverage_name() == "snapshot-2026-04"
    with torch_neuron_sim.fallback_policy("error"), pytest.raises(RuntimeError):
        torch.ones(1, device="neuron").argmax()


def test_a_bad_table_raises_before_anything_else() -> None:
    with pytest.raises(ValueError, match="there is no coverage table"):
        torch_neuron_sim.load_coverage("nowhere")


def test_the_last_table_loaded_before_the_first_tensor_holds(run_python: RunPython) -> None:
    code = """
import torch, torch_neuron_sim as t
t.load_coverage("all")
t.load_coverage("snapshot-2026-04")
t.fallback_policy("silent")
torch.ones(2, device="neuron").argmax()
print(t.get_fallback_ops(), t.coverage_name())
t.load_coverage("all")
"""
    done = run_python(code, env={"TORCH_NEURON_SIM_COVERAGE": "all"})
    assert done.stdout.strip() == "['aten::argmax.out'] snapshot-2026-04"
    assert "RuntimeError: load_coverage: a neuron tensor already exists" in done.stderr.splitlines()[-1]
