"""Verdict, text and JSON of the main job, from figures that no device has to produce."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from torch_neuron_sim.cli.result import Result
from torch_neuron_sim.report import CallSite, OpRow


def make_result(**changes: Any) -> Result:
    result = Result(
        versions={"torch_neuron_sim": "1", "torch": "2", "python": "3"}, threads=2, device="neuron:0",
        instance="trn2.3xlarge", devices=4, hbm_bytes=24 * 2**30, steps=2, seed=0, model_parameters=10,
        text_characters=100, matmul_difference=0.0, losses={"cpu": [2.0, 1.0], "device": [2.0, 1.0]},
        accuracy={"cpu": 0.5, "device": 0.5}, max_loss_difference=0.0, max_parameter_difference=0.0, cpu_spread=0.0,
        peak_memory_bytes=2**20, seconds_per_step={"cpu": 0.1, "device": 0.11}, time_ratio=1.1,
    )  # fmt: skip
    return dataclasses.replace(result, **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"matmul_difference": 1e-6}, "matmul by 1e-06"),
        ({"max_parameter_difference": math.inf}, "parameters by inf"),
        ({"max_loss_difference": math.nan}, "losses by nan"),
        ({"accuracy": {"cpu": 0.5, "device": 0.25}}, "accuracy by 0.25"),
        ({"max_parameter_difference": 5e-3, "cpu_spread": 1e-3}, "tolerance 0.004"),
    ],
)
def test_judge_says_what_differs(changes: dict[str, Any], reason: str) -> None:
    result = make_result(**changes)
    result.judge()
    assert not result.ok
    assert reason in result.reason
    assert result.verdict() == f"FAILED: {result.reason}"


def test_judge_passes_equal_runs_and_runs_within_the_spread() -> None:
    for changes in ({}, {"max_parameter_difference": 3e-3, "cpu_spread": 1e-3}):
        result = make_result(**changes)
        result.judge()
        assert (result.ok, result.reason) == (True, "")


def test_json_has_no_infinity() -> None:
    text = make_result(max_loss_difference=math.inf, losses={"cpu": [math.nan], "device": [1.0]}).to_json()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    data = json.loads(text, parse_constant=refuse)
    assert data["max_loss_difference"] == "inf"
    assert data["losses"] == {"cpu": ["nan"], "device": [1.0]}


def test_fallbacks_are_in_the_text_and_in_the_json() -> None:
    sites = (CallSite("train.py", 7, "step", 2), CallSite("", 0, "SortBackward0", 1))
    row = OpRow("aten::sort", "aten::sort.values_stable", "fallback", "no kernel", 3, 3 * 2**20, 5, sites, 0)
    result = make_result(fallbacks=[row])
    result.judge()
    for words in ("aten::sort.values_stable", "3.0 MiB", "train.py:7 in step", "SortBackward0"):
        assert words in result.findings()
    assert json.loads(result.to_json())["fallbacks"] == json.loads(json.dumps([dataclasses.asdict(row)]))
    assert "none fell back" in make_result().fallback_table()
