"""What a user gets for a mistake: the type of the error and the whole of its message, as in the tables beside this.

A row of a table has ``what``, ``code``, ``raises`` (with its module, unless builtin) and ``message``, in which $folder
is the test's folder and $torch the version. ``fresh`` rows run in an interpreter of their own, with ``env``.
"""

from __future__ import annotations

import io
import json
import subprocess
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

import torch_neuron_sim

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
Row = dict[str, Any]

FRESH = """
import json
try:
    exec({code!r})
except Exception as error:
    print(json.dumps([f"{{type(error).__module__}}.{{type(error).__qualname__}}", str(error)]))
"""


def rows(name: str) -> list[Row]:
    """The table ``<name>.toml``."""
    found: list[Row] = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))["mistake"]
    return found


ROWS = [(f"{name}: {row['what']}", row) for name in ("tensors", "devices", "choices") for row in rows(name)]


def parametrized(found: list[tuple[str, Row]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [row for _, row in found], ids=[name for name, _ in found])


def expected(row: Row, folder: Path) -> tuple[str, str]:
    raises = row["raises"] if "." in row["raises"] else f"builtins.{row['raises']}"
    return raises, Template(row["message"]).safe_substitute(folder=folder, torch=torch.__version__)


def with_process_group(backend: str, function: Callable[[], Any]) -> None:
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        function()
    finally:
        dist.destroy_process_group()


def names(folder: Path) -> dict[str, Any]:
    """What the code of a row may use."""

    def table(lines: str) -> Path:
        made = folder / "mine.tsv"
        made.write_text(f"op\troute\trecorded_as\trefuses\tsource\n{lines}\n")
        return made

    return {
        "io": io,
        "np": np,
        "torch": torch,
        "dist": dist,
        "nn": nn,
        "F": nn.functional,
        "sim": torch_neuron_sim,
        "neuron": torch_neuron_sim.neuron,
        "x": torch.arange(12.0).reshape(3, 4).to("neuron"),
        "index": lambda *values: torch.tensor(values, device="neuron"),
        "table": table,
        "with_process_group": with_process_group,
    }


@parametrized([(name, row) for name, row in ROWS if not row.get("fresh")])
def test_mistake_gets_its_message_and_changes_nothing(row: Row, tmp_path: Path) -> None:
    available = names(tmp_path)
    x = available["x"]
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:
        warnings.simplefilter("ignore")
        exec(row["code"], available)
    raised = f"{caught.type.__module__}.{caught.type.__qualname__}"
    assert (raised, str(caught.value)) == expected(row, tmp_path)
    assert (x + 1).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    assert torch.accelerator.current_device_index() == 0


@parametrized([(name, row) for name, row in ROWS if row.get("fresh")])
def test_mistake_that_needs_a_fresh_process_gets_its_message(row: Row, tmp_path: Path, fresh_python: RunPython) -> None:
    done = fresh_python(FRESH.format(code=row["code"]), row.get("env"))
    assert json.loads(done.stdout) == list(expected(row, tmp_path)), done.stderr


@parametrized([(" ".join(f"{k}={v}" for k, v in row["env"].items()), row) for row in rows("environment")])
def test_bad_value_in_the_environment_gets_its_message(row: Row, fresh_python: RunPython) -> None:
    done = fresh_python(FRESH.format(code="import torch_neuron_sim"), row["env"])
    assert json.loads(done.stdout) == ["builtins.ValueError", row["message"]], done.stderr


@parametrized([(" ".join(row["arguments"]), row) for row in rows("command_line")])
def test_bad_argument_gets_its_message(row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    from torch_neuron_sim.cli import main

    with pytest.raises(SystemExit) as caught:
        main(row["arguments"])
    assert caught.value.code == 2
    assert capsys.readouterr() == ("", row["message"] + "\n")
