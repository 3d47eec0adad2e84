"""What the tests of this folder share."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import torch_neuron_sim


@pytest.fixture(autouse=True)
def _silent_fallbacks() -> Iterator[None]:
    """What falls back is not the subject here."""
    with torch_neuron_sim.fallback_policy("silent"):
        yield


@pytest.fixture
def reload() -> Callable[..., Any]:
    """Saves an object with torch.save and loads it again: ``reload(value, map_location=..., weights_only=...)``."""

    def save_and_load(value: Any, **options: Any) -> Any:
        buffer = io.BytesIO()
        torch.save(value, buffer)
        buffer.seek(0)
        return torch.load(buffer, **options)

    return save_and_load
