"""The table that comes with the package, against this torch and against TorchNeuron's own list."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import coverage

DEFAULT = coverage.load(coverage.DEFAULT)


def test_names() -> None:
    assert coverage.DEFAULT == "snapshot-2026-04"
    assert coverage.names() == ["all", "snapshot-2026-04"]
    assert torch_neuron_sim.coverage_name() == "snapshot-2026-04"


def test_every_row_is_an_operator_of_this_torch() -> None:
    known = set(torch._C._dispatch_get_all_op_names())
    assert DEFAULT.unknown == ()
    assert set(DEFAULT.rows) <= known
    # The same holds for the names it records.
    assert {row.recorded_as for row in DEFAULT.rows.values()} <= known


def test_counts() -> None:
    # A row that changes its route must be changed here too, knowingly.
    assert Counter(row.route for row in DEFAULT.rows.values()) == {"native": 470, "fallback": 734, "unsupported": 180}
    assert DEFAULT.default_route == "fallback"


def test_every_row_has_a_source_and_a_legal_route() -> None:
    for row in DEFAULT.rows.values():
        assert row.route in coverage.table.ROUTES, row
        assert row.source, row
        assert row.op.startswith("aten::"), row


def test_rows_are_sorted() -> None:
    names = list(DEFAULT.rows)
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("op", "route", "recorded_as"),
    [
        ("aten::argmax", "fallback", "aten::argmax.out"),
        ("aten::floor", "fallback", "aten::floor.out"),
        ("aten::normal_", "fallback", "aten::normal_"),
        ("aten::uniform_", "fallback", "aten::uniform_"),
        ("aten::_unique2", "fallback", "aten::_unique2"),
        ("aten::mm", "native", "aten::mm"),
        ("aten::linear", "native", "aten::linear"),
        ("aten::stack", "native", "aten::stack"),
        ("aten::repeat", "native", "aten::repeat"),
        ("aten::one_hot", "native", "aten::one_hot"),
        ("aten::baddbmm", "fallback", "aten::baddbmm.out"),
        ("aten::maximum", "fallback", "aten::maximum.out"),
        ("aten::sort.stable", "fallback", "aten::sort.values_stable"),
        ("aten::native_batch_norm", "fallback", "aten::native_batch_norm"),
        ("aten::_thnn_fused_lstm_cell", "unsupported", "aten::_thnn_fused_lstm_cell"),
    ],
)
def test_published_facts(op: str, route: str, recorded_as: str) -> None:
    row = DEFAULT.rows[op]
    assert (row.route, row.recorded_as) == (route, recorded_as)


def test_structured_ops_are_recorded_as_their_out_overload() -> None:
    # PyTorch's naming: f, f_ and f.out of one kernel.
    for name in ("floor", "tan", "log2", "lgamma"):
        forms = [DEFAULT.rows[f"aten::{name}{suffix}"].recorded_as for suffix in ("", "_", ".out")]
        assert forms == [f"aten::{name}.out"] * 3


def test_native_op_with_a_route_of_each_kind_runs_that_way() -> None:
    torch_neuron_sim.clear_op_tracking()
    with torch_neuron_sim.fallback_policy("silent"):
        x = torch.ones(2, 2, device="neuron")
        x.mm(x), x.floor()
    routes = {row.op: row.route for row in torch_neuron_sim.op_report().rows}
    for op, route in routes.items():
        assert DEFAULT.rows[op].route == route, op


def test_all_has_no_rows_and_makes_every_op_native() -> None:
    table = coverage.load("all")
    assert (table.rows, table.default_route, table.unknown) == ({}, "native", ())


def test_unrecorded_names_exist() -> None:
    assert set(coverage.UNRECORDED) <= set(torch._C._dispatch_get_all_op_names())
