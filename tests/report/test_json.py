"""The report as data."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

import torch

import torch_neuron_sim
from torch_neuron_sim import OpReport, op_report
from torch_neuron_sim.coverage import coverage_table
from torch_neuron_sim.report import SCHEMA, SCHEMA_VERSION, CallSite, OpRow

ROW = {"op", "recorded_as", "route", "reason", "calls", "bytes", "first_use", "sites", "sites_dropped"}
SITE = {"filename", "line", "function", "calls"}
REPORT = {
    "schema",
    "schema_version",
    "torch",
    "instance",
    "coverage",
    "coverage_unknown_ops",
    "int64_overflows",
    "rows",
}


def test_fields_of_schema_version_1(report: OpReport) -> None:
    # Who reads the file relies on these names: change them together with SCHEMA_VERSION.
    assert (SCHEMA, SCHEMA_VERSION) == ("torch_neuron_sim.op_report", 1)
    data = report.to_dict()
    assert data.keys() == REPORT
    assert {field.name for field in fields(OpRow)} == ROW
    assert {field.name for field in fields(CallSite)} == SITE
    assert (data["schema"], data["schema_version"]) == (SCHEMA, SCHEMA_VERSION)


def test_dict_holds_what_the_report_holds(report: OpReport) -> None:
    data = report.to_dict()
    assert (data["torch"], data["instance"], data["coverage"]) == (
        torch.__version__,
        "trn2.3xlarge",
        "snapshot-2026-04",
    )
    assert data["int64_overflows"] == 5
    assert data["coverage_unknown_ops"] == list(coverage_table().unknown)
    assert data["rows"] == [asdict(row) for row in report.rows]
    assert data["rows"][1]["sites"][1] == {
        "filename": "/home/<b>user</b>/train & run.py",
        "line": 12,
        "function": "<lambda>",
        "calls": 3,
    }


def test_json_is_the_dict(report: OpReport) -> None:
    for indent in (None, 2):
        data = json.loads(report.to_json(indent=indent))
        assert data == json.loads(json.dumps(report.to_dict()))
    assert "\n" not in report.to_json()
    assert report.to_json(indent=2).count("\n") > 10


def test_rows_can_be_rebuilt_from_json(report: OpReport) -> None:
    rebuilt = [
        OpRow(**{**row, "sites": tuple(CallSite(**site) for site in row["sites"])})
        for row in json.loads(report.to_json())["rows"]
    ]
    assert rebuilt == report.rows


def test_of_what_ran() -> None:
    torch_neuron_sim.clear_op_tracking()
    with torch_neuron_sim.fallback_policy("silent"):
        torch.ones(4, device="neuron").argmax()
    data = json.loads(op_report().to_json())
    assert [row["op"] for row in data["rows"]] == ["aten::ones", "aten::argmax"]
    assert all(row.keys() == ROW for row in data["rows"])
    assert data["rows"][1]["sites"][0].keys() == SITE


def test_a_report_is_a_snapshot() -> None:
    torch_neuron_sim.clear_op_tracking()
    x = torch.ones(4, device="neuron")
    before = op_report()
    x.relu()
    assert [row.op for row in before.rows] == ["aten::ones"]
    assert [row.op for row in op_report().rows] == ["aten::ones", "aten::relu"]
