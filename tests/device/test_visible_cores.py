"""Which logical cores a process sees, how large one is, and what bad values of these variables say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

DESCRIBE = """
import json, torch, torch_neuron_sim
from torch_neuron_sim import _C
topology = _C.topology()
print(json.dumps([topology["first_core"], torch.neuron.device_count(), topology["logical_cores"], topology["lnc"]]))
"""

RunPython = Callable[..., Any]


def describe(fresh_python: RunPython, env: Mapping[str, str]) -> list[int]:
    done = fresh_python(DESCRIBE, env)
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("value", "first", "count"),
    [("0", 0, 1), ("3", 3, 1), ("0-3", 0, 4), ("1-2", 1, 2), ("1,2,3", 1, 3), ("0-1,2", 0, 3), ("2-2", 2, 1)],
)
def test_visible_cores(fresh_python: RunPython, value: str, first: int, count: int) -> None:
    assert describe(fresh_python, {"NEURON_RT_VISIBLE_CORES": value})[:2] == [first, count]


@pytest.mark.parametrize(
    "value", ["4", "0-4", "-1", "2-1", "0,2", "1,0", "0,0", "0-1,1", "a", "0-", "-", ",", "0,", "0 ,1", "0-1-2", "0.5"]
)
def test_bad_visible_cores(fresh_python: RunPython, value: str) -> None:
    done = fresh_python(DESCRIBE, {"NEURON_RT_VISIBLE_CORES": value})
    assert done.returncode == 1
    assert (
        f"ValueError: NEURON_RT_VISIBLE_CORES='{value}' is not valid. Legal values: logical NeuronCores" in done.stderr
    )
    assert "which are 0 to 3" in done.stderr


@pytest.mark.parametrize(("value", "count"), [("1", 1), ("3", 3), ("4", 4), ("0", 4), ("", 4)])
def test_number_of_cores(fresh_python: RunPython, value: str, count: int) -> None:
    assert describe(fresh_python, {"NEURON_RT_NUM_CORES": value})[:2] == [0, count]


@pytest.mark.parametrize("value", ["5", "-1", "all", "1.0"])
def test_bad_number_of_cores(fresh_python: RunPython, value: str) -> None:
    done = fresh_python(DESCRIBE, {"NEURON_RT_NUM_CORES": value})
    assert done.returncode == 1
    assert f"ValueError: NEURON_RT_NUM_CORES='{value}' is not valid. Legal values: a number" in done.stderr
    assert "of which the instance has 4; 0 means all" in done.stderr


def test_visible_cores_win_over_their_number(fresh_python: RunPython) -> None:
    env = {"NEURON_RT_VISIBLE_CORES": "2-3", "NEURON_RT_NUM_CORES": "1"}
    assert describe(fresh_python, env)[:2] == [2, 2]


def test_indices_are_those_of_logical_cores(fresh_python: RunPython) -> None:
    env = {"NEURON_RT_VISIBLE_CORES": "7", "NEURON_LOGICAL_NC_CONFIG": "1"}
    assert describe(fresh_python, env) == [7, 1, 8, 1]
    assert describe(fresh_python, {"NEURON_RT_VISIBLE_CORES": "9", "TORCH_NEURON_SIM_DEVICES": "10"}) == [9, 1, 10, 2]


def test_virtual_core_size_is_another_name_of_lower_rank(fresh_python: RunPython) -> None:
    assert describe(fresh_python, {"NEURON_RT_VIRTUAL_CORE_SIZE": "1"}) == [0, 8, 8, 1]
    both = {"NEURON_RT_VIRTUAL_CORE_SIZE": "1", "NEURON_LOGICAL_NC_CONFIG": "2"}
    assert describe(fresh_python, both) == [0, 4, 4, 2]


@pytest.mark.parametrize("variable", ["NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE"])
@pytest.mark.parametrize("value", ["0", "3", "two"])
def test_bad_core_size(fresh_python: RunPython, variable: str, value: str) -> None:
    done = fresh_python(DESCRIBE, {variable: value})
    assert done.returncode == 1
    assert f"ValueError: {variable}='{value}' is not valid. Legal values: 1, 2." in done.stderr


def test_memory_is_shared_by_the_devices_that_are_visible(fresh_python: RunPython) -> None:
    """Cores 1 and 2 lie at different stacks, cores 2 and 3 at one."""
    code = """
import torch, torch_neuron_sim
torch.empty(2**20, dtype=torch.uint8, device="neuron:0")
kept = torch.empty(3 * 2**20, dtype=torch.uint8, device="neuron:0")
print(torch.accelerator.get_memory_info(1)[0] < 2**23)
"""
    env = {"NEURON_LOGICAL_NC_CONFIG": "1", "TORCH_NEURON_SIM_HBM_GIB": str(2**-7)}
    apart = fresh_python(code, {**env, "NEURON_RT_VISIBLE_CORES": "1-2"})
    together = fresh_python(code, {**env, "NEURON_RT_VISIBLE_CORES": "2-3"})
    assert (apart.stdout.strip(), together.stdout.strip()) == ("False", "True"), apart.stderr + together.stderr


@pytest.mark.parametrize("variable", ["TORCH_NEURON_SIM_TIME", "NEURON_LAUNCH_BLOCKING"])
def test_switches(fresh_python: RunPython, variable: str) -> None:
    name = {"TORCH_NEURON_SIM_TIME": "time_enabled", "NEURON_LAUNCH_BLOCKING": "launch_blocking"}[variable]
    code = f"import torch, torch_neuron_sim; print(torch_neuron_sim._C.{name}())"
    assert fresh_python(code, {variable: "1"}).stdout.strip() == "True"
    assert fresh_python(code, {variable: "0"}).stdout.strip() == "False"
    assert fresh_python(code, {}).stdout.strip() == str(name == "time_enabled")
    done = fresh_python(code, {variable: "yes"})
    assert done.returncode == 1
    assert f"ValueError: {variable}='yes' is not valid. Legal values: 0, 1." in done.stderr
