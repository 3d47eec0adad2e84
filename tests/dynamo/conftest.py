"""Each test compiles afresh, and may be warned again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from torch_neuron_sim.dynamo import reset_dynamo_metrics


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    reset_dynamo_metrics()
    yield
    torch._dynamo.reset()
    reset_dynamo_metrics()
