"""docs/notebook.ipynb: run from top to bottom, its cells give the outputs that are stored in it.

Without Jupyter, which brings dozens of packages, the cells run one after another in a fresh interpreter. Under Jupyter
itself: ``pip install '.[notebook]'`` and ``python -m pytest -m notebook``. ``jupyter execute --inplace
docs/notebook.ipynb`` stores new outputs.
"""

from __future__ import annotations

import json
import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
RUNNER = ROOT / "tests" / "docs" / "cells.py"

Outputs = list[dict[str, str]]


def stored(cells: list[dict[str, Any]]) -> Outputs:
    """What the cells of a notebook hold, in the form that the runner gives."""
    found = []
    for cell in cells:
        outputs = {"stdout": "", "stderr": "", "value": ""}
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                outputs[output["name"]] += "".join(output["text"])
            else:
                assert output["output_type"] == "execute_result", output
                outputs["value"] = "".join(output["data"]["text/plain"])
        found.append(outputs)
    return found


def same_for_every_run(outputs: Outputs) -> Outputs:
    """Without what differs: names that Jupyter gives cells, and time that passed on the machine."""

    def clean(text: str) -> str:
        text = re.sub(r"\S*ipykernel_\d+/\d+\.py|\bcell_\d+\.py", "CELL", text)
        return re.sub(r"^(wall[^:\n]*:).*$", r"\1", text, flags=re.MULTILINE)

    return [{name: clean(text) for name, text in each.items()} for each in outputs]


def test_cells_give_the_stored_outputs(run_python: Callable[..., Any]) -> None:
    cells = runpy.run_path(str(RUNNER))["code_cells"](NOTEBOOK)
    ours = {name: None for name in os.environ if name.startswith(("TORCH_NEURON_SIM_", "TORCH_NEURONX_", "NEURON_"))}
    done = run_python(
        "import runpy, sys, torch_neuron_sim\n"
        f"sys.argv = ['cells.py', {str(NOTEBOOK)!r}]; runpy.run_path({str(RUNNER)!r}, run_name='__main__')",
        env=ours,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert same_for_every_run(json.loads(done.stdout)) == same_for_every_run(stored(cells))


def test_it_was_run_in_order_and_stored_without_an_error() -> None:
    cells = runpy.run_path(str(RUNNER))["code_cells"](NOTEBOOK)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert any(cell["outputs"] for cell in cells)


def test_links_lead_to_pages() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    prose = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    targets = re.findall(r"\]\(([^)]+)\)", prose)
    assert targets
    assert [target for target in targets if not (NOTEBOOK.parent / target).is_file()] == []


@pytest.mark.notebook
def test_jupyter_gives_the_stored_outputs() -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra 'notebook'")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra 'notebook'")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    expected = stored([cell for cell in notebook.cells if cell.cell_type == "code"])
    nbclient.NotebookClient(notebook, timeout=300).execute()
    found = stored([cell for cell in notebook.cells if cell.cell_type == "code"])
    assert same_for_every_run(found) == same_for_every_run(expected)
