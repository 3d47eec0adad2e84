"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

import torch_neuron_sim

OnBoth = Callable[..., list[Tensor]]


@pytest.fixture(autouse=True)
def _silent_fallbacks() -> Iterator[None]:
    """What falls back is not the subject here."""
    with torch_neuron_sim.fallback_policy("silent"):
        yield


@pytest.fixture
def on_both() -> OnBoth:
    """Runs a function of the device on CPU and on neuron from one seed and asserts that the tensors which it returns
    have the same bits; returns them, on the CPU.
    """

    def run(function: Callable[[str], Sequence[Tensor]], device: str = "neuron") -> list[Tensor]:
        results = []
        for place in ("cpu", device):
            torch.manual_seed(0)
            made = list(function(place))
            assert {tensor.device for tensor in made} == {torch.empty(0, device=place).device}
            results.append([tensor.detach().cpu() for tensor in made])
        assert results[0], "nothing was compared"
        for number, (expected, actual) in enumerate(zip(*results, strict=True)):
            assert actual.dtype == expected.dtype, f"result {number}"
            assert torch.equal(actual, expected), f"result {number}"
        return results[1]

    return run
