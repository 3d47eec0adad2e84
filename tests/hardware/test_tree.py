"""The instance as a tree, and the figures of each device."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from torch_neuron_sim import hardware

DESCRIBE = """
import dataclasses, json, torch, torch_neuron_sim
tree = torch_neuron_sim.hardware.tree()
properties = [torch.neuron.get_device_properties(i) for i in range(torch.neuron.device_count())]
print(json.dumps([dataclasses.asdict(tree), [dataclasses.asdict(each) for each in properties]]))
"""

Describe = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]


@pytest.fixture
def describe(fresh_python: Callable[..., Any]) -> Describe:
    def run(env: Mapping[str, str]) -> Any:
        done = fresh_python(DESCRIBE, env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def cores_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [core for stack in node["stacks"] for core in stack["cores"]]


@pytest.mark.parametrize(("lnc", "cores"), [("2", 4), ("1", 8)])
def test_a_chip_has_four_stacks_and_eight_physical_cores(describe: Describe, lnc: str, cores: int) -> None:
    tree, _ = describe({"NEURON_LOGICAL_NC_CONFIG": lnc, "TORCH_NEURON_SIM_INSTANCE": "trn2.48xlarge"})
    assert (tree["instance"], tree["lnc"], len(tree["chips"])) == ("trn2.48xlarge", int(lnc), 16)
    for index, node in enumerate(tree["chips"]):
        assert (node["index"], node["name"], len(node["stacks"])) == (index, "Trainium2", 4)
        assert len(cores_of(node)) == cores
        physical = [number for core in cores_of(node) for number in core["physical_cores"]]
        assert physical == list(range(8 * index, 8 * index + 8))
        assert sum(stack["memory_bytes"] for stack in node["stacks"]) == 96 * 2**30
    every = [core for node in tree["chips"] for core in cores_of(node)]
    assert [core["index"] for core in every] == [core["device"] for core in every] == list(range(16 * cores))


def test_devices_of_two_physical_cores_have_a_stack_of_their_own(describe: Describe) -> None:
    _, devices = describe({})
    assert [device["hbm_stack"] for device in devices] == [0, 1, 2, 3]
    assert [device["shares_memory_with"] for device in devices] == [[]] * 4
    assert {device["physical_cores"] for device in devices} == {2}


def test_devices_of_one_physical_core_share_a_stack_in_pairs(describe: Describe) -> None:
    _, devices = describe({"NEURON_LOGICAL_NC_CONFIG": "1"})
    assert [device["hbm_stack"] for device in devices] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [device["shares_memory_with"] for device in devices] == [[1], [0], [3], [2], [5], [4], [7], [6]]


def test_visible_cores_keep_their_place(describe: Describe) -> None:
    environment = {"NEURON_LOGICAL_NC_CONFIG": "1", "NEURON_RT_VISIBLE_CORES": "9-12"}
    tree, devices = describe({**environment, "TORCH_NEURON_SIM_INSTANCE": "trn2.48xlarge"})
    assert [device["logical_core"] for device in devices] == [9, 10, 11, 12]
    assert [device["hbm_stack"] for device in devices] == [4, 5, 5, 6]
    assert [device["shares_memory_with"] for device in devices] == [[], [2], [1], []]
    assert {device["chip_index"] for device in devices} == {1}
    seen = {core["index"]: core["device"] for node in tree["chips"] for core in cores_of(node)}
    assert {index: device for index, device in seen.items() if device is not None} == {9: 0, 10: 1, 11: 2, 12: 3}


@pytest.mark.parametrize(
    ("instance", "name", "core", "bandwidth", "sbuf"),
    [
        ("trn2.3xlarge", "Trainium2", "NeuronCore-v3", 725e9, 56),
        ("trn3-gen2", "Trainium3", "NeuronCore-v4", 1056e9, 64),
    ],
)
def test_figures_of_a_device(
    describe: Describe, instance: str, name: str, core: str, bandwidth: float, sbuf: int
) -> None:
    _, devices = describe({"TORCH_NEURON_SIM_INSTANCE": instance})
    first = devices[0]
    assert (first["chip_name"], first["core_name"]) == (name, core)
    assert first["memory_bandwidth"] == bandwidth
    assert first["sbuf_bytes"] == sbuf * 2**20
    assert first["psum_bytes"] == 4 * 2**20
    assert first["peak_flops"] == {"float32": 40e12, "bfloat16": 158e12, "float8": 316e12}


def test_the_tree_of_this_process_counts_its_devices() -> None:
    devices = [core.device for core in hardware.tree().cores if core.device is not None]
    assert devices == list(range(torch.get_device_module("neuron").device_count()))
