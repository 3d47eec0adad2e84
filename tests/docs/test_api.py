"""docs/api.md is what the docstrings say, and leaves out nothing that is public."""

from __future__ import annotations

import dataclasses
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import torch_neuron_sim
from torch_neuron_sim import hardware, metrics, neuron, testing

REFERENCE = runpy.run_path(str(Path(__file__).with_name("api_reference.py")))


def test_the_page_is_up_to_date() -> None:
    assert REFERENCE["PAGE"].read_text(encoding="utf-8") == REFERENCE["page"](), "run tests/docs/api_reference.py"


@pytest.mark.parametrize(
    "module", [torch_neuron_sim, neuron, hardware, metrics, testing], ids=lambda each: each.__name__
)
def test_every_public_name_is_on_it(module: ModuleType) -> None:
    title = "torch.neuron" if module is neuron else module.__name__
    page = REFERENCE["PAGE"].read_text(encoding="utf-8")
    section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
    named = re.findall(r"^### `(?:class )?(\w+)", section, flags=re.MULTILINE)
    public = [name for name in module.__all__ if not name.startswith("_")]
    assert sorted(named) == sorted(name for name in public if not isinstance(getattr(module, name), ModuleType))


def test_classes_that_a_report_holds_are_on_it() -> None:
    page = REFERENCE["PAGE"].read_text(encoding="utf-8")
    for field in dataclasses.fields(torch_neuron_sim.OpReport):
        for name in re.findall(r"\b[A-Z]\w+", str(field.type)):
            assert f"### `class {name}" in page or name == "None"
