"""Peak memory by device, of the process and of a block."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from torch_neuron_sim import OpReport, op_report, record
from torch_neuron_sim.report import peaks
from torch_neuron_sim.report.peaks import DeviceMemory, Usage
from torch_neuron_sim.report.summary import lines

MIB = 1 << 20


def test_of_the_process() -> None:
    held = torch.empty(3 * MIB, dtype=torch.int8, device="neuron:1")
    found = {each.device: each for each in op_report().memory}[1]
    assert found.peak_bytes == torch.accelerator.max_memory_allocated(1)
    assert found.allocated_bytes == torch.accelerator.memory_allocated(1)
    assert found.peak_bytes >= held.nbytes
    assert not found.sampled
    assert found.capacity_bytes == torch.get_device_module("neuron").get_device_properties(1).total_memory


def test_of_a_block_that_sets_a_record() -> None:
    torch.accelerator.reset_peak_memory_stats(0)
    with record() as report:
        torch.empty(5 * MIB, dtype=torch.int8, device="neuron")
    (found,) = (each for each in report.memory if each.device == 0)
    assert (found.peak_bytes, found.sampled) == (torch.accelerator.max_memory_allocated(0), False)


def test_of_a_block_below_an_earlier_peak() -> None:
    torch.empty(50 * MIB, dtype=torch.int8, device="neuron")
    before = torch.accelerator.max_memory_allocated(0)
    with record() as report:
        kept = torch.empty(5 * MIB, dtype=torch.int8, device="neuron")
    (found,) = (each for each in report.memory if each.device == 0)
    assert kept.nbytes <= found.peak_bytes < before
    assert found.sampled
    assert any("the largest of samples" in line for line in lines(report)) or not report.rows
    assert torch.accelerator.max_memory_allocated(0) == before  # the user's own peak was not touched


@pytest.mark.parametrize(
    ("begin", "end", "sampled", "peak", "estimate"),
    [
        ((5, 10), (5, 30), 20, 30, False),  # a record
        ((5, 10), (5, 10), 8, 8, True),  # no record: samples
        ((5, 10), (5, 10), 10, 10, False),  # a sample that equals the device's record
        ((5, 90), (6, 12), 40, 40, True),  # the peak was reset within the block, after the sample
        ((5, 10), (9, 10), 5, 9, True),
    ],
)
def test_exact_where_it_can_be(
    begin: tuple[int, int], end: tuple[int, int], sampled: int, peak: int, estimate: bool
) -> None:
    usages = [Usage((current,), (most,)) for current, most in (begin, end)]
    (found,) = peaks.of_block(usages[0], usages[1], [sampled])
    assert (found.peak_bytes, found.sampled, found.allocated_bytes) == (peak, estimate, end[0])


def test_unused_devices_are_left_out() -> None:
    nothing = Usage((0, 0), (0, 0))
    assert peaks.of_block(nothing, nothing, [0, 0]) == []
    (found,) = peaks.of_block(nothing, Usage((0, 1), (0, 4)), [0, 2])
    assert (found.device, found.peak_bytes, found.sampled, found.allocated_bytes) == (1, 4, False, 1)


def test_text_lists_the_devices_with_the_highest_peaks(report: OpReport) -> None:
    memory = [DeviceMemory(index, (index + 1) * MIB, False, 0, 1024 * MIB, 2) for index in range(11)]
    (line,) = (line for line in lines(replace(report, memory=memory)) if line.startswith("peak memory: "))
    assert line.startswith("peak memory: neuron:3 4.0 MiB of 1.0 GiB, shared by 2 devices; neuron:4 ")
    assert line.endswith("; neuron:10 11.0 MiB of 1.0 GiB, shared by 2 devices; 3 devices with a lower peak")
