"""``python -m torch_neuron_sim info``: the simulated hardware in the manner of neuron-ls, versions, a self-check."""

from __future__ import annotations

import argparse
import json
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from torch_neuron_sim import _C, __version__, coverage_name, fallback_policy, hardware
from torch_neuron_sim._build_info import TORCH_VERSION

DESCRIPTION = """\
Show the simulated hardware: chips, logical NeuronCores and memory, which of them this process sees, the chip's
figures, and versions. Then run a few operators on every device and compare them with CPU."""

EPILOG = """\
exit code: 0 the self-check passed; 1 it did not, with the reason; 2 bad argument

docs/environment.md lists the variables that choose the hardware."""

SCHEMA_VERSION = 1

SELF_CHECKS: dict[str, Callable[[Tensor], Tensor]] = {
    "copy": lambda x: x.clone(),
    "add": lambda x: x + x.flip(0),
    "matmul": lambda x: x @ x.t(),
    "softmax": lambda x: x.softmax(-1),
    "sum": lambda x: x.sum(0),
    "index_select": lambda x: x.index_select(0, torch.tensor([2, 0], device=x.device)),
    "argmax (falls back)": lambda x: x.argmax(-1),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Prints what there is; 0 if the self-check passed, else 1."""
    found = gather()
    print(json.dumps(found, indent=2) if args.json else text(found))
    return 0 if found["self_check"]["ok"] else 1


def gather() -> dict[str, Any]:
    """Everything that is shown, as plain data."""
    tree, chip = hardware.tree(), hardware.chip()
    devices = [hardware.get_device_properties(index) for index in range(_C.device_count())]
    return {
        "schema_version": SCHEMA_VERSION,
        "instance_type": tree.instance,
        "logical_neuroncore_config": tree.lnc,
        "chips": [asdict(node) for node in tree.chips],
        "devices": [asdict(device) for device in devices],
        "chip": {
            "name": chip.name,
            "core": chip.core,
            "constants": {name: asdict(constant) for name, constant in chip.constants.items()},
        },
        "coverage": coverage_name(),
        "time_model": _C.time_enabled(),
        "launch_blocking": _C.launch_blocking(),
        "versions": {
            "torch_neuron_sim": __version__,
            "torch": torch.__version__,
            "built_for_torch": TORCH_VERSION,
            "python": platform.python_version(),
        },
        "extension": str(Path(_C.__file__).resolve()),
        "self_check": self_check(len(devices)),
    }


def self_check(devices: int) -> dict[str, Any]:
    """Whether small operators give the bits that they give on CPU, on every device."""
    host = torch.arange(12, dtype=torch.float32).reshape(3, 4).sin()
    failed = []
    with fallback_policy("silent"):
        for name, function in SELF_CHECKS.items():
            expected = function(host)
            for index in range(devices):
                reason = _difference(function, host.to(f"neuron:{index}"), expected)
                if reason:
                    failed.append(f"{name} on neuron:{index}: {reason}")
    return {"ok": not failed, "operators": list(SELF_CHECKS), "failed": failed}


def _difference(function: Callable[[Tensor], Tensor], on_device: Tensor, expected: Tensor) -> str:
    try:
        found = function(on_device)
    except RuntimeError as error:
        return str(error)
    if found.device != on_device.device:
        return f"the result is on {found.device}"
    return "" if torch.equal(found.cpu(), expected) else "differs from CPU"


def text(found: dict[str, Any]) -> str:
    """For a reader."""
    chip, first = found["chip"], found["devices"][0]
    peaks = ", ".join(f"{dtype} {flops / 1e12:g}" for dtype, flops in first["peak_flops"].items())
    count = len(found["devices"])
    check = found["self_check"]
    versions = found["versions"]
    lines = [
        f"instance-type: {found['instance_type']} (simulated)",
        f"logical-neuroncore-config: {found['logical_neuroncore_config']}",
        _table(found["chips"]),
        "",
        f"chip: {chip['name']}, cores {chip['core']}",
        f"each device: {first['physical_cores']} physical cores, {_memory(first['total_memory'])} HBM"
        + (", shared by two devices" if any(device["shares_memory_with"] for device in found["devices"]) else "")
        + f" at {first['memory_bandwidth'] / 1e9:g} GB/s, {_memory(first['sbuf_bytes'])} SBUF,"
        f" {_memory(first['psum_bytes'])} PSUM",
        f"peak TFLOPS of each device: {peaks}",
        f"time model: {'on' if found['time_model'] else 'off'}"
        f"{', launch blocking' if found['launch_blocking'] else ''}; coverage table: {found['coverage']}",
        "",
        f"torch_neuron_sim {versions['torch_neuron_sim']} for torch {versions['built_for_torch']}; running on torch "
        f"{versions['torch']}, Python {versions['python']}",
        f"extension: {found['extension']}",
        "",
    ]
    if check["ok"]:
        on = "neuron:0" if count == 1 else f"neuron:0 to neuron:{count - 1}"
        lines.append(f"self-check: OK, {len(check['operators'])} operators agree with CPU on {on}")
    else:
        lines += ["self-check: FAILED", *(f"  {each}" for each in check["failed"])]
    return "\n".join(lines)


def _table(chips: Sequence[dict[str, Any]]) -> str:
    heading = (
        ("NEURON", "DEVICE"),
        ("NEURON", "CORES"),
        ("NEURON", "CORE IDS"),
        ("NEURON", "MEMORY"),
        ("TORCH", "DEVICES"),
    )
    rows = []
    for chip in chips:
        cores = [core for stack in chip["stacks"] for core in stack["cores"]]
        visible = [core["device"] for core in cores if core["device"] is not None]
        rows.append(
            (
                str(chip["index"]),
                str(len(cores)),
                _range([core["index"] for core in cores]),
                _memory(sum(stack["memory_bytes"] for stack in chip["stacks"])),
                f"neuron:{_range(visible)}" if visible else "none",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, *zip(*heading, strict=True), strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    titles = [
        "|" + "|".join(f" {part[line]:^{width}} " for part, width in zip(heading, widths, strict=True)) + "|"
        for line in range(2)
    ]
    body = ["|" + "|".join(f" {cell:<{width}} " for cell, width in zip(row, widths, strict=True)) + "|" for row in rows]
    return "\n".join([rule, *titles, rule, *body, rule])


def _range(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _memory(size: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at least 1."""
    exponent = min(int(math.log2(size)) // 10, 4) if size else 0
    return f"{size / 2 ** (10 * exponent):g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[exponent]}"
