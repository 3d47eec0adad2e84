"""The report as data."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import OpReport, op_report, record
from torch_neuron_sim.coverage import coverage_table
from torch_neuron_sim.report import SCHEMA, SCHEMA_VERSION, CallSite, OpRow, load, render

ROW = {"op", "recorded_as", "route", "reason", "calls", "bytes", "first_use", "sites", "sites_dropped"}
SITE = {"filename", "line", "function", "calls"}
REPORT = {
    "schema",
    "schema_version",
    "torch_neuron_sim",
    "torch",
    "instance",
    "coverage",
    "coverage_unknown_ops",
    "outcome",
    "verdict",
    "totals",
    "int64_overflows",
    "rows",
    "compilations",
    "memory",
    "time",
    "device_time",
    "timeline",
    "advice",
}
KEY = {"op", "inputs", "static", "calls", "compiled", "persistent", "first_use", "first_ns", "site"}
MULTIPLIED = {"op", "keys", "calls", "input", "dimension", "values", "value_count", "dtypes", "statics"}
PARTS = {
    "outcome": {"kind", "type", "message", "exit_code"},
    "verdict": {"here", "device", "explanation", "basis"},
    "totals": {"native", "fallback", "unsupported", "float64"},
    "compilations": {"distinct", "compiled", "loaded", "evictions", "dropped", "multiplied", "keys"},
    "time": {"wall_s", "first_run_s", "steady_s"},
    "timeline": {"times_s", "allocated_bytes", "native_calls", "fallback_calls"},
}
LISTS = {
    "rows": ROW,
    "memory": {"device", "peak_bytes", "sampled", "allocated_bytes", "capacity_bytes", "devices_per_stack"},
    "advice": {"rule", "ops", "text", "source"},
}


def test_fields_of_schema_version_2(full: OpReport) -> None:
    # Who reads the file relies on these names: change them together with SCHEMA_VERSION and docs/report.md.
    assert (SCHEMA, SCHEMA_VERSION) == ("torch_neuron_sim.op_report", 2)
    data = full.to_dict()
    assert data.keys() == REPORT
    assert {name: data[name].keys() for name in PARTS} == PARTS
    for name, expected in LISTS.items():
        assert data[name], name
        assert all(each.keys() == expected for each in data[name]), name
    assert all(total.keys() == {"operators", "calls", "bytes"} for total in data["totals"].values())
    assert [each.keys() for each in data["compilations"]["multiplied"]] == [MULTIPLIED]
    assert all(key.keys() == KEY for key in data["compilations"]["keys"])
    assert data["compilations"]["keys"][0]["inputs"][0] == {"shape": (8, 5), "dtype": "float32"}
    assert data["compilations"]["keys"][-1]["site"] == {"filename": "model.py", "line": 7, "function": "forward"}
    assert {field.name for field in fields(OpRow)} == ROW
    assert {field.name for field in fields(CallSite)} == SITE
    assert (data["schema"], data["schema_version"]) == (SCHEMA, SCHEMA_VERSION)


def test_every_field_is_documented(full: OpReport) -> None:
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
    names = {*REPORT, *SITE, *KEY, *MULTIPLIED, *(name for part in (*PARTS.values(), *LISTS.values()) for name in part)}
    assert sorted(name for name in names if f"`{name}`" not in page) == []
    assert f"version {SCHEMA_VERSION}" in page


def test_dict_holds_what_the_report_holds(full: OpReport) -> None:
    data = full.to_dict()
    assert (data["torch"], data["torch_neuron_sim"]) == (torch.__version__, torch_neuron_sim.__version__)
    assert (data["instance"], data["coverage"]) == ("trn2.3xlarge", "snapshot-2026-04")
    assert data["int64_overflows"] == 5
    assert data["coverage_unknown_ops"] == list(coverage_table().unknown)
    assert data["rows"] == [asdict(row) for row in full.rows]
    assert data["rows"][1]["sites"][1] == {
        "filename": "/home/<b>user</b>/train & run.py",
        "line": 12,
        "function": "<lambda>",
        "calls": 3,
    }
    assert data["totals"]["native"] == {"operators": 2, "calls": 40, "bytes": 9 << 20}
    assert data["totals"]["fallback"] == {"operators": 1, "calls": 4, "bytes": 3 << 20}
    assert data["time"] == {"wall_s": 3.0, "first_run_s": 2.5, "steady_s": 0.5}
    assert data["compilations"]["distinct"] == 5
    assert data["timeline"]["allocated_bytes"] == {
        "0": [0, 3 << 20, 2 << 20, 1 << 20],
        "2": [0, 4 << 20, 0, 0],
    }


def test_what_is_not_known_is_null(report: OpReport) -> None:
    data = report.to_dict()
    assert [data[name] for name in ("outcome", "compilations", "time", "timeline")] == [None] * 4
    assert data["memory"] == []


def test_json_is_the_dict(full: OpReport) -> None:
    for indent in (None, 2):
        data = json.loads(full.to_json(indent=indent))
        assert data == json.loads(json.dumps(full.to_dict()))
    assert "\n" not in full.to_json()
    assert full.to_json(indent=2).count("\n") > 10


def test_rows_can_be_rebuilt_from_json(report: OpReport) -> None:
    rebuilt = [
        OpRow(**{**row, "sites": tuple(CallSite(**site) for site in row["sites"])})
        for row in json.loads(report.to_json())["rows"]
    ]
    assert rebuilt == report.rows


def test_of_what_ran() -> None:
    torch_neuron_sim.clear_op_tracking()
    with torch_neuron_sim.fallback_policy("silent"), record() as recorded:
        torch.ones(4, device="neuron").argmax()
    for found in (op_report(), recorded):
        data = json.loads(found.to_json())
        assert data.keys() == REPORT
        assert [row["op"] for row in data["rows"]] == ["aten::ones", "aten::argmax"]
        assert all(row.keys() == ROW for row in data["rows"])
        assert data["rows"][1]["sites"][0].keys() == SITE
        assert all(key.keys() == KEY for key in data["compilations"]["keys"])


def test_a_report_is_a_snapshot() -> None:
    torch_neuron_sim.clear_op_tracking()
    x = torch.ones(4, device="neuron")
    before = op_report()
    x.relu()
    assert [row.op for row in before.rows] == ["aten::ones"]
    assert [row.op for row in op_report().rows] == ["aten::ones", "aten::relu"]


def test_load_reads_what_was_written(full: OpReport, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(render(full, "json"), encoding="utf-8")
    assert load(file) == json.loads(full.to_json())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "not a JSON file"),
        ("[1]", "not a report: expected a JSON object with schema 'torch_neuron_sim.op_report', found 'list'"),
        ('{"schema": "other"}', "found 'other'"),
        ("{}", "found None"),
        (f'{{"schema": "{SCHEMA}", "schema_version": 1}}', "schema version 1; this torch_neuron_sim reads version 2"),
        (f'{{"schema": "{SCHEMA}"}}', "schema version None"),
        (f'{{"schema": "{SCHEMA}", "schema_version": 2, "rows": []}}', "the report lacks advice, compilations,"),
    ],
)
def test_load_refuses_other_files_by_name(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "old.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"old\.json: ") as error:
        load(file)
    assert message in str(error.value)


def test_load_of_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    file = tmp_path / "bytes.json"
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ValueError, match=r"bytes\.json: not a JSON file"):
        load(file)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.json")


def test_kinds_of_rendering(full: OpReport) -> None:
    assert render(full, "text") == str(full)
    assert render(full, "json") == full.to_json(indent=2)
    assert render(full, "html") == full.to_html()
    with pytest.raises(ValueError, match=r"'pdf' is not a kind of report\. Legal: text, json, html"):
        render(full, "pdf")
