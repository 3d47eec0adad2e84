"""What the tests of the operators share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import torch_neuron_sim


@pytest.fixture(autouse=True)
def _quiet_and_exact() -> Iterator[None]:
    """Values are compared with CPU's, so float64 is computed in float64; the float64 rule has tests of its own."""
    with torch_neuron_sim.fallback_policy("silent"), torch_neuron_sim.float64_policy("exact"):
        yield
