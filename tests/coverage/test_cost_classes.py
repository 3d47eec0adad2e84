"""Every native operator has a cost class, or says that it has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from torch_neuron_sim import _C, coverage
from torch_neuron_sim.coverage import costs

ROWS = costs.load()
NATIVE = sorted(row.op for row in coverage.load(coverage.DEFAULT).rows.values() if row.route == "native")
REGISTERED = sorted(op for op in NATIVE if _C.cost_rule(op) is not None)


def schemas(op: str) -> list[Any]:
    """Those that a row is for: of one overload, or of all, in the form that is in place too."""
    name, _, overload = op.partition(".")
    found = [
        schema
        for each in ((name,) if overload or name.endswith("_") else (name, name + "_"))
        for schema in torch._C._jit_get_schemas_for_operator(each)
    ]
    return [schema for schema in found if not overload or schema.overload_name == overload]


def test_every_native_operator_has_a_row() -> None:
    assert [op for op in NATIVE if costs.row_of(op, ROWS) is None] == []


def test_no_row_is_for_nothing() -> None:
    ops = {*NATIVE, *_C.hand_registered()}
    assert {row.op for op in ops if (row := costs.row_of(op, ROWS))} == ROWS.keys()


def test_what_has_no_class_says_why() -> None:
    none = {row.op for row in ROWS.values() if row.cost_class == "none"}
    assert none == {
        "aten::_native_multi_head_attention",
        "aten::histc",
        "aten::masked_select",
        "aten::nonzero",
        "aten::nonzero_static",
        "aten::repeat_interleave",
    }
    assert all(ROWS[op].source for op in none)


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.op)
def test_rows_name_arguments_that_exist(row: costs.CostRow) -> None:
    names = {argument.name for schema in schemas(row.op) for argument in schema.arguments}
    assert {*row.arguments, *row.by_argument.values()} - {"-"} <= names


def test_an_operator_without_sources_follows_from_its_class() -> None:
    """Passes of its own are from somewhere."""
    assert [
        row.op for row in ROWS.values() if not row.source and row.attributes.keys() - {"accumulate", "elements"}
    ] == []


def test_installed_rules_are_those_of_the_table() -> None:
    assert len(REGISTERED) > 450
    for op in REGISTERED:
        row, rule = costs.row_of(op, ROWS), _C.cost_rule(op)
        assert row is not None
        assert rule is not None
        assert rule["cost_class"] == row.cost_class
        assert rule["attributes"] == pytest.approx(
            dict(row.attributes) | ({"in_place": 1.0} if "in_place" in rule["attributes"] else {})
        )


@pytest.mark.parametrize(
    ("op", "operands", "dims", "count", "flag", "in_place"),
    [
        ("aten::addmm", [1, 2, 0], -1, -1, -1, False),
        ("aten::addmm.out", [1, 2, 0], -1, -1, -1, False),
        ("aten::addmm_", [1, 2, 0], -1, -1, -1, True),
        ("aten::add.out", [0, 1], -1, -1, -1, False),
        ("aten::zeros", [-1], -1, -1, -1, False),
        ("aten::ones_like", [-1], -1, -1, -1, False),
        ("aten::scatter.value", [0, -1, 2], -1, -1, -1, False),
        ("aten::scatter_.src", [0, 3, 2], -1, -1, -1, True),
        ("aten::sum", [0], -1, -1, -1, False),
        ("aten::sum.dim_IntList", [0], 1, -1, -1, False),
        ("aten::topk", [0], 2, 1, -1, False),
        ("aten::convolution", [0, 1, 2], -1, -1, 6, False),
        ("aten::_foreach_add_.List", [0, 1], -1, -1, -1, True),
    ],
)
def test_positions_are_those_of_the_schema(
    op: str, operands: list[int], dims: int, count: int, flag: int, in_place: bool
) -> None:
    rule = _C.cost_rule(op)
    assert rule is not None
    assert (rule["operands"], rule["dims"], rule["count"], rule["flag"]) == (operands, dims, count, flag)
    assert ("in_place" in rule["attributes"]) == in_place


def test_other_operators_have_no_rule() -> None:
    assert _C.cost_rule("aten::argmax") is None or "aten::argmax" in NATIVE
    assert _C.cost_rule("mine::nonsense") is None
    assert _C.estimate_op("mine::nonsense", [], []) is None


F32 = "float32"
A, B, C = (((64, 32), F32, ()), ((32, 48), F32, ()), ((64, 48), F32, ()))
NOTHING: tuple[list[Any], list[int]] = ([], [])


@pytest.mark.parametrize(
    ("op", "arguments", "outputs", "same_as"),
    [
        ("aten::mm", [([A], []), ([B], [])], [C], lambda: _C.estimate("matmul", [A, B], [C])),
        (
            "aten::addmm",
            [([((48,), F32, ())], []), ([A], []), ([B], []), NOTHING, NOTHING],
            [C],
            lambda: _C.estimate("matmul", [A, B, ((48,), F32, ())], [C]),
        ),
        (
            "aten::linear",
            [([A], []), ([((48, 32), F32, ())], []), NOTHING],
            [C],
            lambda: _C.estimate("matmul", [A, B], [C]),
        ),
        (
            "aten::sum.dim_IntList",
            [([A], []), ([], [0]), NOTHING, NOTHING],
            [((32,), F32, ())],
            lambda: _C.estimate("reduction", [A], [((32,), F32, ())], {"by_matmul": 1, "arithmetic": 1}, [0]),
        ),
        (
            "aten::topk",
            [([A], []), ([], [5]), ([], [-1]), NOTHING, NOTHING],
            [((64, 5), F32, ()), ((64, 5), "int64", ())],
            lambda: _C.estimate("sort", [A], [((64, 5), F32, ()), ((64, 5), "int64", ())], {}, [-1], 5),
        ),
        (
            "aten::cat",
            [([A] * 9, []), ([], [0])],
            [((576, 32), F32, ())],
            lambda: _C.estimate("copy", [A] * 9, [((576, 32), F32, ())], lead=9),
        ),
        (
            "aten::_foreach_add_.List",
            [([A] * 5, []), ([C] * 5, []), NOTHING],
            [A] * 5,
            lambda: _C.estimate("binary", [A] * 5 + [C] * 5, [A] * 5, {"arithmetic": 1}, lead=5),
        ),
    ],
)
def test_a_call_is_estimated_by_its_arguments(
    op: str, arguments: list[Any], outputs: list[Any], same_as: Callable[[], Any]
) -> None:
    found = _C.estimate_op(op, arguments, outputs)
    assert found is not None
    expected = dict(same_as())
    assert {key: value for key, value in found.items() if key != "cost_class"} == pytest.approx(expected)
    assert found["total_ns"] > 0


@pytest.mark.parametrize("op", REGISTERED)
def test_estimates_of_every_operator_are_finite(op: str) -> None:
    """With one small tensor for each tensor argument, and none for the rest: nothing crashes, divides by zero or is
    negative, whatever the shapes.
    """
    name, _, overload = op.partition(".")
    schema = next(s for s in torch._C._jit_get_schemas_for_operator(name) if s.overload_name == overload)
    arguments = [
        (
            [((4, 3, 5, 2), F32, ())] if "Tensor" in str(argument.type) else [],
            [1] if "int" in str(argument.type) else [],
        )
        for argument in schema.arguments
    ]
    found = _C.estimate_op(op, arguments, [((4, 3, 5, 2), F32, ())])
    assert found is not None
    figures = [value for value in found.values() if isinstance(value, float)]
    assert all(0 <= value < 1e9 for value in figures)
    assert (found["total_ns"] == 0) == (found["cost_class"] in ("free", "none"))
