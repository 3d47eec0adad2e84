"""Which devices an instance has, how much memory they have, and which of them share it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

import torch_neuron_sim

GIB = 2**30

# Neuron docs, architecture pages of Trn2 and Trn3: chips of one server, times 4 logical cores of two physical ones, and
# the memory of one chip's four stacks.
SERVERS = {
    "trn2.3xlarge": ("trn2", 1, 96),
    "trn2.48xlarge": ("trn2", 16, 96),
    "trn2u.48xlarge": ("trn2u", 16, 96),
    "trn3-gen1": ("trn3", 16, 144),
    "trn3-gen2": ("trn3", 4, 144),
}

DESCRIBE = """
import dataclasses, json, torch, torch_neuron_sim
last = torch.neuron.device_count() - 1
torch.ones(2, device=f"neuron:{last}")
print(json.dumps({
    **dataclasses.asdict(torch_neuron_sim.hardware.hardware()),
    "count": torch.accelerator.device_count(),
    "names": [torch.neuron.get_device_properties(index).name for index in (0, last)],
    "memory": [torch.neuron.get_device_properties(index).total_memory for index in (0, last)],
    "info": torch.accelerator.get_memory_info(last)[1],
}))
"""

Describe = Callable[[Mapping[str, str]], "dict[str, Any]"]


@pytest.fixture
def describe(fresh_python: Callable[..., subprocess.CompletedProcess[str]]) -> Describe:
    def run(env: Mapping[str, str]) -> dict[str, Any]:
        done = fresh_python(DESCRIBE, env)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


@pytest.mark.parametrize("instance", SERVERS)
def test_instance_has_its_published_chips_and_memory(describe: Describe, instance: str) -> None:
    chip, chips, chip_gib = SERVERS[instance]
    found = describe({"TORCH_NEURON_SIM_INSTANCE": instance})
    assert found["instance"] == instance
    assert found["chip"] == chip
    assert found["names"] == [chip, chip]
    assert found["count"] == found["device_count"] == 4 * chips
    assert found["devices_per_stack"] == 1
    assert found["memory"] == [chip_gib * GIB // 4] * 2
    assert found["info"] == found["stack_bytes"] == chip_gib * GIB // 4


def test_default_is_a_trn2_3xlarge(describe: Describe) -> None:
    assert describe({}) == describe({"TORCH_NEURON_SIM_INSTANCE": "trn2.3xlarge"})
    assert describe({})["count"] == 4


@pytest.mark.parametrize("instance", SERVERS)
def test_single_core_devices_are_twice_as_many_and_share_a_stack_in_pairs(describe: Describe, instance: str) -> None:
    pairs = describe({"TORCH_NEURON_SIM_INSTANCE": instance})
    singles = describe({"TORCH_NEURON_SIM_INSTANCE": instance, "NEURON_LOGICAL_NC_CONFIG": "1"})
    assert singles["count"] == 2 * pairs["count"]
    assert singles["devices_per_stack"] == 2
    assert singles["memory"] == pairs["memory"]


def test_core_pairs_are_the_default(describe: Describe) -> None:
    assert describe({"NEURON_LOGICAL_NC_CONFIG": "2"}) == describe({})


def test_an_empty_variable_counts_as_absent(describe: Describe) -> None:
    names = ("TORCH_NEURON_SIM_INSTANCE", "TORCH_NEURON_SIM_DEVICES", "TORCH_NEURON_SIM_HBM_GIB")
    assert describe(dict.fromkeys((*names, "NEURON_LOGICAL_NC_CONFIG"), "")) == describe({})


@pytest.mark.parametrize("count", [1, 3, 128])
def test_device_count_can_be_chosen(describe: Describe, count: int) -> None:
    found = describe({"TORCH_NEURON_SIM_DEVICES": str(count)})
    assert found["count"] == count
    assert found["memory"] == [24 * GIB] * 2


def test_device_count_holds_with_single_core_devices(describe: Describe) -> None:
    found = describe({"TORCH_NEURON_SIM_DEVICES": "3", "NEURON_LOGICAL_NC_CONFIG": "1"})
    assert found["count"] == 3
    assert found["devices_per_stack"] == 2


@pytest.mark.parametrize("gib", ["0.25", "1", "100"])
def test_memory_can_be_chosen(describe: Describe, gib: str) -> None:
    found = describe({"TORCH_NEURON_SIM_HBM_GIB": gib, "TORCH_NEURON_SIM_INSTANCE": "trn3-gen2"})
    assert found["memory"] == [int(float(gib) * GIB)] * 2
    assert found["count"] == 16


@pytest.mark.parametrize(
    "device", [None, 1, "1", "neuron:1", torch.device("neuron", 1), "neuron", torch.device("neuron")]
)
def test_properties_are_found_by_every_name_of_a_device(device: Any) -> None:
    found = torch.neuron.get_device_properties(device)
    hardware = torch_neuron_sim.hardware.hardware()
    assert found.name == hardware.chip
    assert found.total_memory == hardware.stack_bytes
    assert repr(found) == f"<NeuronDeviceProperties(name='{found.name}', total_memory={found.total_memory})>"


@pytest.mark.parametrize("device", [-1, 1000, "neuron:1000", "1000", "cpu", "cuda:0", "nonsense", torch.device("cpu")])
def test_properties_of_what_is_no_device_are_a_value_error(device: Any) -> None:
    with pytest.raises(ValueError):
        torch.neuron.get_device_properties(device)
