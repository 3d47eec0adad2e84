"""What the tests of the launch share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
import torch

import torch_neuron_sim

_numbers = count()

Operator = Callable[..., "torch.Tensor"]


@pytest.fixture(autouse=True)
def _silent_fallbacks() -> Iterator[None]:
    with torch_neuron_sim.fallback_policy("silent"):
        yield


@pytest.fixture
def cpu_operator() -> Iterator[Callable[[str, Callable[..., object]], torch._ops.OpOverload]]:
    """Defines an operator of another library that has a kernel for CPU only:
    ``cpu_operator("twice(Tensor x) -> Tensor", kernel)``.
    """
    namespace = f"neuron_launch_{next(_numbers)}"
    with torch.library._scoped_library(namespace, "DEF") as library:

        def define(schema: str, kernel: Callable[..., object]) -> torch._ops.OpOverload:
            library.define(schema)
            name = schema.partition("(")[0]
            library.impl(name, kernel, "CPU")
            return getattr(getattr(torch.ops, namespace), name).default

        yield define
