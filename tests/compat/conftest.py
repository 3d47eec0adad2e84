"""The alias for one test; the process is without it before and after."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import torch_neuron_sim
from torch_neuron_sim.compat.finder import AliasFinder


@pytest.fixture
def alias() -> Iterator[None]:
    """``import torch_neuronx`` means the simulator."""
    torch_neuron_sim.install_alias()
    yield
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, AliasFinder)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_neuronx"]:
        del sys.modules[name]


@pytest.fixture
def torch_neuronx(alias: None) -> ModuleType:
    import torch_neuronx

    return torch_neuronx
