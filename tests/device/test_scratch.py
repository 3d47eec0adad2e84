"""Memory that a kernel uses within one operator is counted apart; the host memory of a fallback is not counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import torch_neuron_sim

MIB = 2**20


def scratch_peak(call: Callable[[], object]) -> int:
    """Scratch bytes that a call needed at most. Nothing stays."""
    torch.neuron.reset_peak_memory_stats()
    call()
    assert torch.neuron.scratch_stats()["current"] == 0
    return torch.neuron.scratch_stats()["peak"]


def test_a_kernel_that_needs_room_is_counted_as_scratch() -> None:
    images, weights = (
        torch.ones(2, 3, 64, 64, device="neuron").double(),
        torch.ones(8, 3, 3, 3, device="neuron").double(),
    )
    torch_neuron_sim.float64_policy("exact")
    # The columns of im2col: one for each result pixel, of 3 * 3 * 3 values.
    assert scratch_peak(lambda: F.conv2d(images, weights)) >= 62 * 62 * 27 * 8


def test_scratch_is_not_allocated_memory() -> None:
    images, weights = torch.ones(2, 3, 64, 64, device="neuron"), torch.ones(8, 3, 3, 3, device="neuron")
    before, peak_before = torch.neuron.memory_allocated(), None
    torch.neuron.reset_peak_memory_stats()
    peak_before = torch.neuron.max_memory_allocated()
    result = F.conv2d(images, weights)
    held = torch.neuron.memory_allocated() - before
    assert result.nbytes <= held < result.nbytes * 9 / 8 + 256
    assert torch.neuron.max_memory_allocated() == peak_before + held


def test_a_result_is_not_scratch() -> None:
    left = torch.ones(512, 512, device="neuron")
    assert scratch_peak(lambda: left + left) == 0
    assert scratch_peak(lambda: left @ left) == 0
    assert scratch_peak(lambda: torch.cat([left, left])) == 0


def test_an_operator_without_temporaries_uses_no_scratch() -> None:
    tensor = torch.ones(1000, 1000, device="neuron")
    assert scratch_peak(tensor.neg_) == 0
    assert scratch_peak(lambda: tensor.t()) == 0


@pytest.mark.parametrize("call", [lambda t: t.sort(), lambda t: t.std(), lambda t: t.argmax(1)])
def test_a_fallback_s_host_memory_is_not_counted(call: Callable[[torch.Tensor], object]) -> None:
    torch_neuron_sim.fallback_policy("silent")
    tensor = torch.rand(1000, 1000, device="neuron")
    reserved = torch.neuron.memory_reserved()
    torch_neuron_sim.clear_op_tracking()
    assert scratch_peak(lambda: call(tensor)) == 0
    assert len(torch_neuron_sim.get_fallback_ops()) == 1
    assert torch.neuron.memory_reserved() <= reserved + 3 * tensor.nbytes


def test_a_kernel_that_fails_leaves_no_scratch() -> None:
    left, right = torch.ones(300, 300, device="neuron"), torch.ones(299, 300, device="neuron")
    allocated = torch.neuron.memory_allocated()
    for call in (lambda: left @ right, lambda: left + right, lambda: torch.cat([left, right], 1)):
        with pytest.raises(RuntimeError):
            call()
    assert torch.neuron.scratch_stats()["current"] == 0
    assert torch.neuron.memory_allocated() == allocated
