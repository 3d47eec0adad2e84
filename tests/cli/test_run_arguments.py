"""Bad arguments of ``run`` get one line and exit code 2, before the program starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunCli = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "no script to run is given"),
        (["-m"], "no module to run is given"),
        (["/no/such.py"], "can't open file '/no/such.py': No such file or directory"),
        (["-m", "tns_no_such"], "no module named 'tns_no_such'"),
        (["-m", "tns_no_such.part"], "cannot find module 'tns_no_such.part'"),
        (["-m", "torch.nn"], "no module named 'torch.nn.__main__'"),
        (["-m", "torch._C"], "module 'torch._C' has no Python code to run"),
        (["--bogus", "SCRIPT"], "unrecognized arguments: --bogus"),
        (["--repor", "json", "SCRIPT"], "unrecognized arguments: --repor"),
        (["--fallback", "never", "SCRIPT"], "argument --fallback: invalid choice: 'never'"),
        (["--coverage", "none", "SCRIPT"], "argument --coverage: there is no coverage table 'none'. Legal: all, "),
        (["--report", "pdf", "SCRIPT"], "argument --report: invalid choice: 'pdf'"),
        (["--output", "/no/such/file", "SCRIPT"], "argument --output: cannot write to '/no/such/file'"),
        (["--output", "a", "--output", "b", "SCRIPT"], "argument --output: 2 files for 1 report"),
        (["--compare", "/no/such.json", "SCRIPT"], "argument --compare: cannot read '/no/such.json': No such file"),
    ],
)
def test_a_bad_argument_gets_one_line(run_cli: RunCli, tmp_path: Path, arguments: list[str], text: str) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('started')\n")
    done = run_cli("run", *(str(script) if argument == "SCRIPT" else argument for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("neuron-sim run: error: ")
    assert done.err.count("\n") == 1
    assert text in done.err


def test_a_report_that_is_none_cannot_be_compared_with(run_cli: RunCli, tmp_path: Path) -> None:
    for content in ("not JSON", "[]", '{"schema": "another", "schema_version": 1}'):
        (tmp_path / "old.json").write_text(content)
        done = run_cli("run", "--compare", str(tmp_path / "old.json"), __file__)
        assert done.code == 2
        assert done.err.startswith("neuron-sim run: error: argument --compare: ")
        assert done.err.count("\n") == 1


def test_help_names_every_option(run_cli: RunCli) -> None:
    done = run_cli("run", "--help")
    assert done.code == 0
    options = (
        "--coverage",
        "--fallback",
        "--float64",
        "--rng",
        "--report",
        "--output",
        "--compare",
        "--map-cuda",
        "-m",
    )
    for text in (*options, "exit code", "neuron-sim run [options] script.py [args ...]"):
        assert text in done.out
