"""docs/op-coverage.md is what the coverage table and the summary of the last full run say, and that run was full."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from torch_neuron_sim import coverage


@pytest.fixture(scope="module")
def summary(harness: Any) -> Any:
    return harness.summary.Summary.read()


def test_page_is_what_the_generator_writes(harness: Any, summary: Any) -> None:
    assert harness.page.PAGE.read_text() == harness.page.page(summary), "run python tests/parity/publish.py"


def test_page_has_a_row_for_each_operator_of_the_table(harness: Any) -> None:
    section = harness.page.PAGE.read_text().split("## Operators of the table\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines() if line.startswith("| aten::")]
    assert rows == list(coverage.load(coverage.DEFAULT).rows)


def test_summary_is_of_a_full_run_without_unexpected_failures(harness: Any, summary: Any) -> None:
    assert summary.run["part"] == "full"
    # The page says how many samples of each entry were taken; None is all.
    assert summary.run["samples"] is None or summary.run["samples"] >= 8
    assert harness.results.unexpected(iter(summary.cases)) == []


def test_summary_has_every_entry_with_every_dtype(harness: Any, summary: Any) -> None:
    if summary.run["torch"] != torch.__version__:
        pytest.skip(f"the run was made with torch {summary.run['torch']}, whose databases are its own")
    wanted = {(entry.key, dtype) for entry in harness.cases.entries() for dtype in entry.dtypes}
    assert {(each.entry, each.dtype) for each in summary.cases} == wanted


def test_summary_is_read_as_it_was_written(harness: Any, summary: Any, tmp_path: Any) -> None:
    summary.write(tmp_path)
    again = harness.summary.Summary.read(tmp_path)
    assert again.run == summary.run
    assert again.operators == summary.operators
    assert sorted(map(str, again.cases)) == sorted(map(str, summary.cases))
    for file in tmp_path.iterdir():
        assert file.read_text() == (harness.summary.FOLDER / file.name).read_text()
