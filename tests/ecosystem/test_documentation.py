"""docs/ecosystem.md reports on the versions that are installed, which are those of the extra, and its programs run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import torch

pytestmark = pytest.mark.ecosystem

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ecosystem.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def reported() -> dict[str, str]:
    return dict(re.findall(r"^\| ([a-z]+) \| ([0-9.]+) \|", PAGE, flags=re.MULTILINE))


def test_versions_are_those_that_are_installed() -> None:
    assert reported() == {name: version(name) for name in reported()}
    assert f"torch {'.'.join(torch.__version__.split('.')[:2])}" in PAGE


def test_versions_are_those_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = dict(requirement.split("==") for requirement in project["optional-dependencies"]["ecosystem"])
    assert reported() == extra


def test_every_package_has_a_test() -> None:
    tested = {path.stem.split("_")[1] for path in Path(__file__).parent.glob("test_*.py")} - {"documentation"}
    assert set(reported()) == tested


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_runs(
    program: str, library: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "docs/ecosystem.md", "exec"), {"__name__": "program"})
