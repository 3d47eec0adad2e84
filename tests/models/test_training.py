"""A training on neuron is the training on CPU: same losses, gradients, parameters and buffers, in every coverage."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import torch_neuron_sim

STEPS = 4

# Where CPU and device do other sums, so that bits differ: PyTorch multiplies a recurrent layer's inputs of all steps at
# once on CPU (LSTM: in a layer of oneDNN's), and step by step elsewhere; test_recurrent.py holds the device to that.
# RMSNorm is one operator on the device, but several on CPU, between whose gradients the residual's is added.
ROUNDING = {"lstm", "lstm_projected", "gru", "gru_packed", "rnn", "llama"}
LARGEST_ROUNDING = 1e-6  # of values around 1, after STEPS steps
FOLDER = Path(__file__).parent


def beyond_rounding(name: str, differing: dict[str, float]) -> dict[str, float]:
    allowed = LARGEST_ROUNDING if name in ROUNDING else 0.0
    return {what: difference for what, difference in differing.items() if not difference <= allowed}


def test_bits_are_those_of_cpu(model_name: str, zoo: ModuleType, compare: ModuleType) -> None:
    case = zoo.CASES[model_name]
    cpu = compare.train(case, "cpu", STEPS)
    assert compare.differing(cpu, compare.train(case, "cpu", STEPS)) == {}, "CPU does not repeat itself here"
    assert beyond_rounding(model_name, compare.differing(cpu, compare.train(case, "neuron", STEPS))) == {}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["mlp", "resnet", "gpt"])
def test_bits_are_those_of_cpu_in_low_precision(
    name: str, dtype: torch.dtype, zoo: ModuleType, compare: ModuleType
) -> None:
    cpu, neuron = (compare.train(zoo.CASES[name], device, STEPS, dtype=dtype) for device in ("cpu", "neuron"))
    assert compare.differing(cpu, neuron) == {}
    assert neuron.tensors["loss in eval mode"].dtype == dtype


def test_training_learns(model_name: str, zoo: ModuleType, compare: ModuleType) -> None:
    losses = compare.train(zoo.CASES[model_name], "neuron", 12).losses
    assert all(map(math.isfinite, losses))
    assert losses[-1] < losses[0]


def test_another_seed_gives_other_losses(model_name: str, zoo: ModuleType, compare: ModuleType) -> None:
    """Shows that the comparison above can fail."""
    case = zoo.CASES[model_name]
    found = compare.differing(compare.train(case, "neuron", 2), compare.train(case, "neuron", 2, seed=1))
    assert {"losses", "loss in eval mode"} <= found.keys()


def test_bits_are_those_of_cpu_where_every_operator_is_native(run_python: Callable[..., Any], zoo: ModuleType) -> None:
    done = run_python(
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import compare; compare.main({STEPS})",
        env={"TORCH_NEURON_SIM_COVERAGE": "all"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["coverage"] == "all"
    assert found["results"].keys() == zoo.CASES.keys()
    for name, result in found["results"].items():
        assert beyond_rounding(name, result["differing"]) == {}, name
        assert result["fallbacks"] == [], name


def test_default_coverage_sends_operators_without_a_kernel_to_the_cpu(zoo: ModuleType, compare: ModuleType) -> None:
    """The comparison above is of both ways, not twice of one."""
    assert torch_neuron_sim.coverage_name() == "snapshot-2026-04"
    with torch_neuron_sim.record() as report:
        compare.train(zoo.CASES["unet"], "neuron", 1)
    routes = {row.op: row.route for row in report.rows}
    assert routes["aten::convolution"] == "native"
    assert "fallback" in routes.values()
