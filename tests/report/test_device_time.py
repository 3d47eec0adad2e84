"""The estimate for the device in the report."""

from __future__ import annotations

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import hardware, op_report, record


def test_a_block_has_its_own_time() -> None:
    a = torch.zeros(256, 256).to("neuron")
    torch.mm(a, a)
    with record() as report:
        torch.mm(a, a)
        torch.mm(a, a)
    time = report.device_time
    assert time is not None
    (op,) = time.ops
    assert (op.op, op.calls, op.untimed_calls) == ("aten::mm", 2, 0)
    assert op.flops == 2 * 2 * 256**3
    assert time.busy_ns == op.ns == sum(time.ns_by_bound.values())
    assert time.elapsed_ns >= 2 * hardware.chip().amount("host_issue")


def test_clearing_within_a_block_loses_nothing() -> None:
    a = torch.zeros(64, 64).to("neuron")
    with record() as report:
        torch.mm(a, a)
        torch_neuron_sim.clear_op_tracking()
        torch.mm(a, a)
    assert report.device_time is not None
    assert [(op.op, op.calls) for op in report.device_time.ops] == [("aten::mm", 2)]


def test_utilisation_is_of_one_devices_peak() -> None:
    a = torch.zeros(1024, 1024, dtype=torch.bfloat16).to("neuron")
    with record() as report:
        torch.mm(a, a)
    time = report.device_time
    assert time is not None
    chip = hardware.chip()
    cores = chip.amount("cores") / hardware.hardware().devices_per_stack / 4  # a trn2.3xlarge has four devices
    assert time.peak_flops == pytest.approx(667e12 * cores / chip.amount("cores"))
    assert time.mfu == pytest.approx(2 * 1024**3 / (time.elapsed_ns * 1e-9 * time.peak_flops))
    assert 0 < time.bandwidth < time.peak_bandwidth
    assert time.ops[0].bytes_per_s == pytest.approx(time.bandwidth)


def test_the_summary_names_bounds_and_what_is_not_in_the_model() -> None:
    x = torch.ones(64, 64).to("neuron")
    torch_neuron_sim.clear_op_tracking()
    with torch_neuron_sim.fallback_policy("silent"):
        x.relu(), x.argmax(), x.nonzero()
    (line,) = (line for line in op_report().heading() if line.startswith("estimated time on the device"))
    assert "bound by host" in line
    assert line.endswith("1 call not in the model")
