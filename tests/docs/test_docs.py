"""README.md and docs/ say what is so: links, paths, names, variables and tables."""

from __future__ import annotations

import importlib
import importlib.util
import re
import runpy
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import coverage

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LAYERS = ("device", "backend", "launch", "ops", "python")
VARIABLE = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def rows(page: Path, first_heading: str) -> list[list[str]]:
    """The cells of the table whose first column is headed so, without its heading."""
    table = page.read_text().split(f"| {first_heading} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def sources(*patterns: str) -> str:
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def documented_variables() -> list[str]:
    return [cells[0].strip("`") for cells in rows(ROOT / "docs" / "environment.md", "variable")]


def test_environment_table_names_the_variables_that_the_code_reads() -> None:
    code = sources("csrc/**/*.cpp", "csrc/**/*.h", "torch_neuron_sim/**/*.py")
    # A variable's name is the whole of a string; PyTorch's own are not read here.
    named = {name for name in re.findall(rf'"({VARIABLE})"', code) if "NEURON" in name}
    read = set(re.findall(rf"""(?:getenv|environment|environ\.get|environ\[)\(?["']({VARIABLE})["']""", code))
    assert read <= named
    assert sorted(documented_variables()) == sorted(named)


def test_environment_table_gives_the_defaults() -> None:
    defaults = {
        cells[0].strip("`"): cells[2].strip("`") for cells in rows(ROOT / "docs" / "environment.md", "variable")
    }
    assert defaults["TORCH_NEURON_SIM_COVERAGE"] == coverage.DEFAULT
    policies = importlib.import_module("torch_neuron_sim.tracking.policies")
    for policy in policies.environment_values():
        assert defaults[policy.variable] == policy.values[0]


def test_environment_table_gives_the_instances() -> None:
    cells = next(cells for cells in rows(ROOT / "docs" / "environment.md", "variable") if "INSTANCE" in cells[0])
    counts, memory = (re.findall(r"\d+", part) for part in cells[3].split(" of HBM")[0].split("devices with"))
    code = sources("csrc/device/topology.cpp")
    instances = re.findall(r'^    \{"([\w.-]+)", "\w+", "\w+", (\d+), (\d+)\},', code, flags=re.MULTILINE)
    assert instances == list(zip(re.findall(r"`([^`]+)`", cells[1]), counts, memory, strict=True))
    assert cells[2] == f"`{instances[0][0]}`"


@every_page
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not re.match(r"https?://", target):
            file, _, anchor = target.partition("#")
            linked = page.parent / file if file else page
            assert linked.exists(), target
            if anchor:
                headings = re.findall(r"^#+ (.+)$", linked.read_text(), flags=re.MULTILINE)
                assert anchor in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


@every_page
def test_paths_exist(page: Path) -> None:
    for path in re.findall(r"`((?:csrc|torch_neuron_sim|tests|docs)/[^` ]*)`", page.read_text()):
        assert (ROOT / path).exists(), path


def is_importable(module: str) -> bool:
    """Whether what it needs is installed: modules of torch_neuron_sim.integrations import other libraries."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("torch_neuron_sim"):
            raise
        return False
    return True


@every_page
def test_names_exist(page: Path) -> None:
    for name in re.findall(r"\b(?:torch_neuron_sim|torch\.neuron)(?:\.[A-Za-z_]\w*)+", page.read_text()):
        found: Any = {"torch": torch, "torch_neuron_sim": torch_neuron_sim}[name.split(".")[0]]
        for part in name.split(".")[1:]:
            if isinstance(found, ModuleType) and not hasattr(found, part):
                module = f"{found.__name__}.{part}"
                assert importlib.util.find_spec(module), module
                if not is_importable(module):
                    break
            found = getattr(found, part)


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name})" not in readme] == []


def test_routes_table_counts_the_coverage_table() -> None:
    routes = Counter(row.route for row in coverage.load(coverage.DEFAULT).rows.values())
    written = {cells[0]: int(cells[1]) for cells in rows(ROOT / "docs" / "fidelity.md", "route")}
    assert written == routes


def test_performance_table_has_the_rows_of_the_benchmark() -> None:
    measurements = runpy.run_path(str(ROOT / "tests" / "benchmarks" / "overhead.py"))["measurements"]
    (table,) = blocks(ROOT / "docs" / "performance.md", "text")
    names = [re.split(r"\s{2,}", line)[0] for line in table.splitlines()[1:]]
    assert names == list(measurements())


def test_a_part_uses_only_the_parts_above_it() -> None:
    for position, layer in enumerate(LAYERS):
        code = sources(f"csrc/{layer}/**/*.cpp", f"csrc/{layer}/**/*.h")
        used = set(re.findall(r'#include "(\w+)/', code)) - {layer}
        assert used <= set(LAYERS[:position]), layer
    assert not re.findall(r"#include <(?:torch|ATen|c10|pybind11|Python)\b.*", sources("csrc/device/**/*.*"))
    assert not re.findall(
        r"#include <(?:pybind11|Python)\b.*", sources("csrc/backend/*", "csrc/launch/*", "csrc/ops/**/*.*")
    )
