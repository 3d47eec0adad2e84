"""The programs on README.md and in docs/ print what the pages say. See examples.py for which blocks are programs."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = runpy.run_path(str(Path(__file__).with_name("examples.py")))

# Losses may differ in the last digit on another CPU.
DECIMAL = re.compile(r"\d+\.\d+")
# Time that passed on the machine: the only lines that may differ.
WALL = re.compile(r"^(\s*wall[^:\n]*:).*$", flags=re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES["find"](), ids=lambda example: f"{example.page.stem}-{example.file}")
def test_program_prints_what_the_page_says(example: Any, run_python: Callable[..., Any], tmp_path: Path) -> None:
    ours = {name: None for name in os.environ if name.startswith(("TORCH_NEURON_SIM_", "TORCH_NEURONX_", "NEURON_"))}
    done = run_python(EXAMPLES["program"](example, tmp_path), env=ours, timeout=600)
    assert done.returncode == 0, done.stderr
    output, error = (text.replace(str(tmp_path), EXAMPLES["FOLDER"]) for text in (done.stdout, done.stderr))
    output, expected = (WALL.sub(r"\1", text) for text in (output, example.output))
    assert DECIMAL.sub("#", output) == DECIMAL.sub("#", expected)
    found, wanted = ([float(text) for text in DECIMAL.findall(each)] for each in (output, expected))
    assert found == pytest.approx(wanted, abs=2e-2)
    assert example.warning in error


def test_the_pages_for_users_show_programs() -> None:
    pages = {example.page.name for example in EXAMPLES["find"]()}
    assert pages >= {"README.md", "getting-started.md", "will-it-run.md", "measuring.md"}
