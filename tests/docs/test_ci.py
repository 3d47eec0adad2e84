"""docs/ci.md and its workflow: a valid file, the commands of README.md and of the page, tests that pass."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
WORKFLOW = ROOT / "docs" / "ci" / "neuron-sim.yml"

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["test"]
    assert job["runs-on"].startswith("ubuntu-")
    found: list[dict[str, Any]] = job["steps"]
    return found


@pytest.fixture
def commands(steps: list[dict[str, Any]]) -> list[str]:
    return [line for step in steps for line in step.get("run", "").splitlines()]


def test_steps_run_a_command_or_use_an_action(steps: list[dict[str, Any]]) -> None:
    assert all(("run" in step) != ("uses" in step) for step in steps)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    # What `steps.wheel.outputs` refers to.
    assert [step.get("id") for step in steps].count("wheel") == 1


def test_the_page_shows_the_same_commands(commands: list[str]) -> None:
    shown = re.findall(r"^```\n(pip .*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert shown == ["\n".join(commands) + "\n"]


def test_torch_is_installed_first_as_the_readme_says(commands: list[str]) -> None:
    assert commands[0] in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_the_build_has_what_the_project_requires_for_it(commands: list[str]) -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    installed = {word for command in commands for word in shlex.split(command)}
    assert set(required) <= installed


def test_the_sources_in_the_cache_key_exist(steps: list[dict[str, Any]]) -> None:
    (key,) = (step["with"]["key"] for step in steps if step.get("id") == "wheel")
    patterns = re.findall(r"'simulator/([^']+)'", key)
    assert {"setup.py", "pyproject.toml"} <= set(patterns)
    assert all(list(ROOT.glob(pattern)) for pattern in patterns)


def test_the_tests_on_the_page_pass(pytester: pytest.Pytester) -> None:
    conftest, module = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    folder = pytester.mkdir("tests")
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_on_neuron.py").write_text(module)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "tests").assert_outcomes(passed=2)
