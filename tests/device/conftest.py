"""Every test of device memory begins and ends without cached memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _empty_caches() -> Iterator[None]:
    torch.neuron.init()  # before that, torch.accelerator has no statistics to give
    torch.neuron.empty_cache()
    yield
    torch.neuron.empty_cache()
