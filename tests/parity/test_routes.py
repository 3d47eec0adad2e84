"""The op table is true: operators take the route that it lists, seen in the ledger while samples run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import _C


def _assert_routes(results: Any) -> None:
    assert sum(each.samples for each in results.findings() if each.check == "routes") > 5000
    wrong = [each for each in results.unexpected() if each.check == "routes"]
    assert not wrong, "\n".join(map(str, wrong))


def test_part_of_the_databases_takes_the_routes_of_the_table(part: Any) -> None:
    _assert_routes(part)


@pytest.mark.full
def test_all_of_the_databases_takes_the_routes_of_the_table(full: Any) -> None:
    _assert_routes(full)


@pytest.mark.parametrize("name", ["view_as_real", "view_as_complex"])
def test_views_of_complex_numbers_are_fallbacks_that_are_never_recorded(name: str, harness: Any) -> None:
    given = torch.ones(2, 2, dtype=torch.complex64 if name == "view_as_real" else torch.float32, device="neuron")
    torch_neuron_sim.clear_op_tracking()
    getattr(torch, name)(given)
    assert harness.routes.route(f"aten::{name}") == "fallback"
    assert f"aten::{name}" not in {row["op"] for row in _C.ledger_rows()}
