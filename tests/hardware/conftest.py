"""The cost model with the chip of a test's choice, and the process's own again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from torch_neuron_sim import _C
from torch_neuron_sim.hardware import chips

Estimate = dict[str, Any]


@pytest.fixture(autouse=True)
def _restore_chip() -> Iterator[None]:
    before, costs = _C.chip(), _C.clock_host_costs()
    yield
    _C.set_chip(before)
    _C.clock_set_host_costs(*costs)


@pytest.fixture
def use_chip() -> Callable[..., dict[str, float]]:
    """``use_chip(name, lnc=1, **changes)`` puts a shipped chip in force; changes in the model's units (ns, bytes)."""

    def use(name: str, lnc: int = 1, **changes: float) -> dict[str, float]:
        values = {**chips.shipped(name).model(lnc), **changes}
        _C.set_chip(values)
        return values

    return use


@pytest.fixture
def estimate() -> Callable[..., Estimate]:
    """``estimate(class, inputs, outputs, dims=..., count=..., **attributes)``. A tensor: (sizes, dtype[, strides])."""

    def run(
        cost_class: str,
        inputs: list[Any],
        outputs: list[Any],
        dims: Any = (),
        count: int = 0,
        lead: int = 1,
        **attributes: float,
    ) -> Estimate:
        def specs(tensors: list[Any]) -> list[Any]:
            return [None if each is None else (each[0], each[1], each[2] if len(each) > 2 else ()) for each in tensors]

        return dict(_C.estimate(cost_class, specs(inputs), specs(outputs), attributes, dims, count, lead))

    return run
