"""Where the reports of ``run`` go, in which kind, and what a comparison adds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunScript = Callable[..., Any]

PROGRAM = "import torch\nprint((torch.ones(3, 3, device='neuron') @ torch.ones(3, 3, device='neuron')).sum().item())\n"


def test_text_goes_to_stderr_by_default(run_script: RunScript) -> None:
    done = run_script(PROGRAM)
    assert done.out == "27.0\n"
    assert "aten::mm" in done.err


@pytest.mark.parametrize("options", [("--report", "json", "--output"), ("--output",)])
def test_json_goes_to_its_file(run_script: RunScript, tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "report.json"
    done = run_script(PROGRAM, options=(*options, str(file)))
    assert (done.out, done.err) == ("27.0\n", "")
    assert "aten::mm" in {row["op"] for row in json.loads(file.read_text())["rows"]}


def test_html_by_the_suffix_and_text_by_any_other(run_script: RunScript, tmp_path: Path) -> None:
    run_script(PROGRAM, options=("--output", str(tmp_path / "report.html")))
    assert "<table" in (tmp_path / "report.html").read_text()
    run_script(PROGRAM, options=("--output", str(tmp_path / "report")))
    assert "aten::mm" in (tmp_path / "report").read_text()
    assert "<table" not in (tmp_path / "report").read_text()


def test_a_dash_is_stdout(run_script: RunScript) -> None:
    done = run_script(PROGRAM, options=("--report", "json", "--output", "-"))
    first, _, report = done.out.partition("\n")
    assert first == "27.0"
    assert json.loads(report)["schema_version"]
    assert done.err == ""


def test_several_reports_go_to_their_files_in_order(run_script: RunScript, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    done = run_script(
        PROGRAM,
        options=(
            "--report",
            "html",
            "--output",
            str(one),
            "--report",
            "json",
            "--output",
            str(two),
            "--report",
            "text",
        ),
    )
    assert "<table" in one.read_text()
    assert json.loads(two.read_text())["rows"]
    assert "aten::mm" in done.err


def test_a_program_that_changes_its_folder_changes_no_output(
    run_script: RunScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_script("import os\nos.chdir('/')\n", options=("--output", "report.json"))
    assert (tmp_path / "report.json").exists()


@pytest.mark.parametrize(("program", "code"), [("", 1), ("raise SystemExit(5)", 5)])
def test_a_report_that_cannot_be_written_gets_one_line(run_script: RunScript, program: str, code: int) -> None:
    done = run_script(program, options=("--output", "/dev/full"))
    assert done.code == code
    assert done.err == "neuron-sim run: error: cannot write the report: No space left on device\n"


def test_a_comparison_names_what_changed(run_script: RunScript, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    run_script(PROGRAM, options=("--output", str(file)))
    changed = f"{PROGRAM}torch.ones(3, device='neuron').argmax()\n"
    done = run_script(changed, options=("--compare", str(file), "--fallback", "silent"))
    assert done.code == 0
    assert "aten::argmax" in done.err
    same = run_script(PROGRAM, options=("--compare", str(file)))
    assert len(same.err) < len(done.err)
    # A comparison is text: beside a report of another kind it goes to stderr.
    done = run_script(
        changed, options=("--compare", str(file), "--fallback", "silent", "--output", str(tmp_path / "new.json"))
    )
    assert "aten::argmax" in done.err
