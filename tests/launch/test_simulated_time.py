"""What each call takes on the simulated clocks: the cost model's figure for its shapes, launch included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import _C

CHIP = _C.chip()
LAUNCH = CHIP["launch_latency"]


@pytest.fixture(autouse=True)
def _clocks_at_zero() -> Iterator[None]:
    torch.zeros(1, device="neuron")
    torch_neuron_sim.fallback_policy("silent")
    _C.clear_compile_cache()
    torch_neuron_sim.clear_op_tracking()
    _C.clock_reset()
    yield
    _C.clear_compile_cache()


@pytest.fixture
def issue_costs() -> Iterator[Callable[[int], None]]:
    """Sets what the host needs to issue an op, in ns."""
    before = _C.clock_host_costs()
    yield lambda ns: _C.clock_set_host_costs(ns, 0, False)
    _C.clock_set_host_costs(*before)


def totals(op: str) -> Any:
    (row,) = (row for row in _C.time_totals() if row["op"] == op)
    return row


def operand(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype).removeprefix("torch.")


def neuron(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype).to("neuron")


@pytest.mark.parametrize("calls", [1, 3])
def test_a_call_takes_what_the_cost_model_says(calls: int) -> None:
    a, b = neuron(256, 512, dtype=torch.bfloat16), neuron(512, 128, dtype=torch.bfloat16)
    for _ in range(calls):
        torch.mm(a, b)
    row = totals("aten::mm")
    # By hand: K / 128 = 4 passes of max(min(64, m), n) cycles, for the best of both roles, over two cores at 2.4 GHz.
    cycles = 4 * min(2 * 128, 1 * 256)
    tensor_ns = cycles / 2 / 2.4
    ramp_ns = min(tensor_ns, CHIP["tensor_ramp_window"] * CHIP["tensor_ramp_rate"]) * (1 / CHIP["tensor_ramp_rate"] - 1)
    moved = 2 * (256 * 512 + 512 * 128 + 256 * 128)
    assert row["calls"] == calls
    assert row["flops"] == calls * 2 * 256 * 512 * 128
    assert row["bytes"] == calls * moved
    memory_ns = row["ns_by_bound"].get("memory", 0) and moved / (2 * CHIP["memory_bandwidth"])
    least = LAUNCH + 2 * CHIP["dma_latency"] + max(tensor_ns + ramp_ns, memory_ns)
    assert row["ns"] / calls == pytest.approx(least, rel=0.35)
    assert row["ns"] / calls >= least - 1


def test_the_stream_works_after_the_host_has_issued(issue_costs: Callable[[int], None]) -> None:
    x = neuron(64)
    _C.clock_reset()
    issue_costs(1000)
    torch.relu(x)
    first = _C.clock_stream_end(0, 0)
    one = totals("aten::relu")["ns"]
    assert first == 1000 + one
    torch.relu(x)
    assert _C.clock_host_now() == 2000
    assert _C.clock_stream_end(0, 0) == first + one


def test_events_show_what_was_between_them() -> None:
    x = neuron(128, 512)
    start, end = (torch.neuron.Event(enable_timing=True) for _ in range(2))
    torch.neuron.synchronize()
    start.record()
    torch.exp(x)
    end.record()
    torch.neuron.synchronize()
    shown = start.elapsed_time(end) * 1e6
    assert shown == pytest.approx(CHIP["host_issue"] + totals("aten::exp")["ns"], abs=2)


def test_streams_overlap_and_wait(issue_costs: Callable[[int], None]) -> None:
    x = neuron(1024, 1024)
    one, two = torch.neuron.Stream(), torch.neuron.Stream()
    issue_costs(0)
    _C.clock_reset()
    with torch.neuron.stream(one):
        torch.exp(x)
    with torch.neuron.stream(two):
        torch.exp(x)
    single = totals("aten::exp")["ns"] // 2
    assert _C.clock_stream_end(0, one.stream_id) == _C.clock_stream_end(0, two.stream_id) == single
    two.wait_stream(one)
    with torch.neuron.stream(two):
        torch.exp(x)
    assert _C.clock_stream_end(0, two.stream_id) == 2 * single


@pytest.mark.parametrize(
    ("call", "op", "to_host", "to_device"),
    [
        (lambda x: x.argmax(), "aten::argmax", 4096, 8),
        (lambda x: torch.floor(x), "aten::floor", 4096, 4096),
    ],
)
def test_a_fallback_takes_two_transfers_and_a_synchronisation(
    call: Callable[[torch.Tensor], torch.Tensor], op: str, to_host: int, to_device: int
) -> None:
    call(neuron(1024))
    assert totals(op)["ns"] == pytest.approx(_C.fallback_ns(to_host, to_device), abs=1)
    assert totals(op)["ns_by_bound"].keys() == {"host"}


def test_transfers_take_their_bytes() -> None:
    x = torch.zeros(1 << 20)
    y = x.to("neuron")
    assert totals("aten::copy_")["ns"] == pytest.approx(_C.host_transfer_ns(x.nbytes), abs=1)
    y.cpu()
    assert totals("aten::copy_")["ns"] == pytest.approx(2 * _C.host_transfer_ns(x.nbytes), abs=2)
    y[0].item()
    assert totals("aten::_local_scalar_dense")["ns"] == pytest.approx(_C.host_transfer_ns(4), abs=1)


def test_views_and_metadata_take_nothing() -> None:
    x = neuron(4, 4)
    torch_neuron_sim.clear_op_tracking()
    x.t().reshape(-1)[2:].view(7, 2).expand(7, 2)
    torch.empty(3, device="neuron")
    assert sum(row["ns"] for row in _C.time_totals() if row["op"] != "aten::copy_") == 0


def test_operators_without_a_class_are_counted_apart() -> None:
    x = neuron(16)
    torch.nonzero(x)
    row = totals("aten::nonzero")
    assert (row["calls"], row["untimed_calls"], row["ns"]) == (1, 1, 0)


def test_totals_begin_again_when_tracking_is_cleared() -> None:
    x = neuron(16)
    torch.relu(x), torch.relu(x)
    torch_neuron_sim.clear_op_tracking()
    assert not [row for row in _C.time_totals() if row["op"] == "aten::relu"]
    torch.relu(x)
    assert totals("aten::relu")["calls"] == 1


def test_totals_survive_a_cleared_and_a_disabled_cache() -> None:
    x = neuron(16)
    torch.relu(x)
    single = totals("aten::relu")["ns"]
    _C.clear_compile_cache()
    torch.relu(x)
    _C.set_compile_cache_enabled(False)
    torch.relu(x)
    _C.set_compile_cache_enabled(True)
    assert totals("aten::relu")["ns"] == 3 * single


def test_gradients_that_are_not_wanted_take_no_time() -> None:
    x, w = neuron(64, 256).requires_grad_(), neuron(128, 256).requires_grad_()
    torch.nn.functional.linear(x, w).sum().backward()
    both = totals("aten::linear_backward")["flops"]
    torch_neuron_sim.clear_op_tracking()
    torch.nn.functional.linear(x, w.detach()).sum().backward()
    assert 0 < totals("aten::linear_backward")["flops"] < both


def test_time_can_be_switched_off(run_python: Callable[..., Any]) -> None:
    found = run_python(
        "import torch, torch_neuron_sim as s; torch.relu(torch.ones(4).to('neuron'));"
        "print(s._C.clock_stream_end(0, 0), s.op_report().device_time)",
        env={"TORCH_NEURON_SIM_TIME": "0"},
    )
    assert found.stdout.split() == ["0", "None"], found.stderr
