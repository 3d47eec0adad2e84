"""``python -m torch_neuron_sim info``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from torch_neuron_sim import __version__, hardware
from torch_neuron_sim.cli import info, main


def info_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["info", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_says_what_the_api_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = info_json(capsys)
    tree, chip = hardware.tree(), hardware.chip()
    assert found["schema_version"] == info.SCHEMA_VERSION
    assert found["instance_type"] == tree.instance
    assert found["logical_neuroncore_config"] == tree.lnc
    assert len(found["chips"]) == len(tree.chips)
    assert len(found["devices"]) == torch.get_device_module("neuron").device_count()
    assert found["devices"][0]["total_memory"] == hardware.get_device_properties(0).total_memory
    assert found["chip"]["name"] == chip.name
    assert found["chip"]["constants"]["launch_latency"]["assumption"] == chip.constants["launch_latency"].assumption
    assert found["versions"]["torch_neuron_sim"] == __version__
    assert found["versions"]["torch"] == torch.__version__
    assert found["self_check"] == {"ok": True, "operators": list(info.SELF_CHECKS), "failed": []}


def test_text_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    found = info_json(capsys)
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    for part in (
        f"instance-type: {found['instance_type']}",
        f"logical-neuroncore-config: {found['logical_neuroncore_config']}",
        found["chip"]["name"],
        found["extension"],
        torch.__version__,
        "self-check: OK",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("environment", "rows"),
    [
        ({}, ["| 0      | 4      | 0-3      | 96 GiB | neuron:0-3 |"]),
        (
            {"TORCH_NEURON_SIM_INSTANCE": "trn3-gen2", "NEURON_RT_VISIBLE_CORES": "3-4"},
            [
                "| 0      | 4      | 0-3      | 144 GiB | neuron:0 |",
                "| 1      | 4      | 4-7      | 144 GiB | neuron:1 |",
                "| 2      | 4      | 8-11     | 144 GiB | none     |",
            ],
        ),
        ({"NEURON_LOGICAL_NC_CONFIG": "1"}, ["| 0      | 8      | 0-7      | 96 GiB | neuron:0-7 |"]),
    ],
)
def test_table_of_chips(fresh_python: Callable[..., Any], environment: dict[str, str], rows: list[str]) -> None:
    code = "import sys, torch, torch_neuron_sim; from torch_neuron_sim.cli import main; sys.exit(main(['info']))"
    done = fresh_python(code, environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for row in rows:
        assert row in done.stdout


def test_devices_that_share_memory_are_said_to(fresh_python: Callable[..., Any]) -> None:
    code = "import sys, torch, torch_neuron_sim; from torch_neuron_sim.cli import main; sys.exit(main(['info']))"
    assert "shared by two devices" in fresh_python(code, {"NEURON_LOGICAL_NC_CONFIG": "1"}).stdout
    assert "shared by two devices" not in fresh_python(code, {}).stdout


def test_a_failed_self_check_is_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x + (1.0 if x.device.type == "neuron" else 0.0)

    def refuses(x: torch.Tensor) -> torch.Tensor:
        if x.device.type == "neuron":
            raise RuntimeError("no such kernel")
        return x

    monkeypatch.setattr(info, "SELF_CHECKS", {"add": wrong, "other": refuses, "elsewhere": lambda x: x.cpu()})
    assert main(["info"]) == 1
    text = capsys.readouterr().out
    assert "self-check: FAILED" in text
    assert "add on neuron:0: differs from CPU" in text
    assert "other on neuron:0: no such kernel" in text
    assert "elsewhere on neuron:0: the result is on cpu" in text


def test_bad_argument_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["info", "--nonsense"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == "neuron-sim info: error: unrecognized arguments: --nonsense\n"


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torch_neuron_sim", "info"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "instance-type:" in done.stdout
