"""What the tests of op tracking share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import torch_neuron_sim


@pytest.fixture(autouse=True)
def _nothing_recorded_yet() -> Iterator[None]:
    torch_neuron_sim.clear_op_tracking()
    yield


@pytest.fixture
def silent() -> Iterator[None]:
    """Nothing warns."""
    with torch_neuron_sim.fallback_policy("silent"), torch_neuron_sim.float64_policy("silent"):
        yield
