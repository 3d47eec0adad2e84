"""The main job: ``python -m torch_neuron_sim``, on the device and with CPU in its place, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import linecache
import math
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim.cli import main, verify
from torch_neuron_sim.cli.gpt import Trainer
from torch_neuron_sim.cli.result import SCHEMA_VERSION, Result
from torch_neuron_sim.report.formats import relative

STEPS = 4
FIELDS = {field.name for field in dataclasses.fields(Result)} | {"schema_version"}


def run_json(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    file = tmp_path / "result.json"
    code = main(["--steps", str(STEPS), "--no-progress", "--json", str(file), *arguments])
    return code, json.loads(file.read_text(encoding="utf-8"))


def test_device_agrees_with_cpu_bit_for_bit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, data = run_json(tmp_path)
    assert (code, data["ok"], data["reason"]) == (0, True, "")
    assert data.keys() == FIELDS
    assert data["schema_version"] == SCHEMA_VERSION
    assert data["device"] == "neuron:0"
    assert data["devices"] == torch.get_device_module("neuron").device_count()
    assert data["hbm_bytes"] == torch.get_device_module("neuron").get_device_properties(0).total_memory
    assert data["tolerance"] == data["cpu_spread"] == 0
    assert data["matmul_difference"] == data["max_loss_difference"] == data["max_parameter_difference"] == 0
    assert data["losses"]["cpu"] == data["losses"]["device"]
    assert len(data["losses"]["cpu"]) == STEPS
    # Weights, gradients and AdamW's two moments are alive together.
    assert 4 * 4 * data["model_parameters"] < data["peak_memory_bytes"] < data["hbm_bytes"]
    assert data["time_ratio"] == pytest.approx(data["seconds_per_step"]["device"] / data["seconds_per_step"]["cpu"])
    out = capsys.readouterr().out
    for text in (data["instance"], torch.__version__, "24 GiB" if data["hbm_bytes"] == 24 * 2**30 else "GiB", "ratio"):
        assert text in out


def test_fallbacks_are_listed_with_the_line_that_caused_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, data = run_json(tmp_path)
    row = next(row for row in data["fallbacks"] if row["recorded_as"] == "aten::argmax.out")
    assert row["calls"] == 1
    assert row["bytes"] > 0
    (site,) = row["sites"]
    assert ".argmax(" in linecache.getline(site["filename"], site["line"])
    assert f"{relative(site['filename'])}:{site['line']} in {site['function']}" in capsys.readouterr().out


def test_same_seed_same_losses_other_seed_other_losses(tmp_path: Path) -> None:
    one, again, other = (run_json(tmp_path, "--seed", seed)[1]["losses"]["device"] for seed in ("5", "5", "6"))
    assert one == again
    assert one != other


def test_loss_falls(tmp_path: Path) -> None:
    _, data = run_json(tmp_path, "--steps", "25")
    assert data["losses"]["device"][-1] < data["losses"]["device"][0] - 1


def test_a_device_that_computes_otherwise_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong(Trainer):
        def step(self, inputs: Tensor, targets: Tensor) -> float:
            loss = super().step(inputs, targets)
            if self.device.type != "cpu":
                with torch.no_grad():
                    self.model.norm.weight[0] += 1e-3
            return loss

    monkeypatch.setattr(verify, "Trainer", Wrong)
    code, data = run_json(tmp_path)
    assert (code, data["ok"]) == (1, False)
    assert data["max_parameter_difference"] > 0
    assert "parameters by" in data["reason"]
    assert "first at step 2" in data["reason"]
    assert f"FAILED: {data['reason']}" in capsys.readouterr().out


def test_cpu_stands_in_as_the_device(tmp_path: Path) -> None:
    code, data = run_json(tmp_path, "--device", "cpu")
    assert code == 0
    assert data["device"] == "cpu again"
    assert data["losses"]["cpu"] == data["losses"]["device"]
    assert data["instance"] is data["devices"] is data["hbm_bytes"] is data["peak_memory_bytes"] is None
    assert data["fallbacks"] == []


def test_a_cpu_that_does_not_repeat_itself_is_allowed_its_own_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Noisy(Trainer):
        count = 0

        def step(self, inputs: Tensor, targets: Tensor) -> float:
            Noisy.count += 1
            return super().step(inputs, targets) + 1e-6 * (Noisy.count % 3)

    monkeypatch.setattr(verify, "Trainer", Noisy)
    monkeypatch.setattr(verify, "CONTROL_STEPS", 2)
    code, data = run_json(tmp_path, "--device", "cpu")
    assert Noisy.count == 3 * STEPS, "the control trains to the end"
    assert code == 0
    assert 0 < data["max_loss_difference"] <= data["tolerance"]
    assert data["tolerance"] > data["cpu_spread"] > 0


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([math.nan], [math.nan], 0.0),
        ([math.nan], [1.0], math.inf),
        ([math.inf], [math.inf], 0.0),
        ([math.inf], [-math.inf], math.inf),
    ],
)
def test_largest_difference(one: list[float], other: list[float], difference: float) -> None:
    assert verify.largest_difference(torch.tensor(one), torch.tensor(other)) == difference


def test_quiet_prints_the_verdict_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quiet", "--steps", "2", "--device", "cpu"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "OK: cpu again agrees with cpu\n"
    assert captured.err == ""


def test_json_on_stdout_is_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--steps", "1", "--device", "cpu", "--no-progress", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["ok"]
    assert captured.err.endswith("OK: cpu again agrees with cpu\n")


def test_module_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "torch_neuron_sim", "--steps", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("OK: neuron:0 agrees with cpu\n")
    lines = done.stderr.splitlines()
    assert lines
    assert all(line.startswith("training ") for line in lines), "no warning repeats what the table says"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--steps", "0"], "--steps: '0' is not a whole number above 0"),
        (["--steps", "many"], "--steps: 'many' is not"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**64)], "--seed"),
        (["--device", "cuda"], "--device: 'cuda' is not neuron, neuron:N or cpu"),
        (["--device", "neuron:999"], "there is no neuron:999"),
        (["--device", "neuron:256"], "there is no neuron:256"),
        (["--json", "/no/such/folder/result.json"], "--json: cannot write to"),
        (["--step", "3"], "unrecognized arguments: --step 3"),
        (["train"], "unrecognized arguments: train"),
    ],
)
def test_a_bad_argument_gets_one_line(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("neuron-sim: error: ")
    assert captured.err.count("\n") == 1
    assert text in captured.err


def test_help_names_every_option_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    for text in ("--steps", "--seed", "--device", "--json", "--no-progress", "--quiet", "exit code"):
        assert text in out


def test_missing_text_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert main(["--device", "cpu"]) == 1
    err = capsys.readouterr().err
    assert "argparse.py" in err
    assert str(tmp_path) in err
