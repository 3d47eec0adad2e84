"""One warning for each set of operators on which the real compile fails, at the user's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import torch_neuron_sim
from torch_neuron_sim import CompileWarning
from torch_neuron_sim.dynamo import graph_ops, reset_dynamo_metrics

EAGER = "torch.compile(backend='neuron'): nothing is compiled, the captured graph runs eagerly, op by op."


def warned(function: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    torch_neuron_sim.fallback_policy("silent")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.compile(function, backend="neuron", **options)(*arguments)
    assert all(warning.category is CompileWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def ones(*sizes: int, **options: Any) -> Tensor:
    return torch.ones(*sizes, device="neuron", **options)


def test_a_graph_of_native_operators() -> None:
    assert warned(lambda x: F.gelu(x @ x), ones(2, 2)) == [EAGER]


def test_operators_that_are_not_native_are_named_as_tracking_names_them() -> None:
    text = f"{EAGER} The real compile fails on aten::argmax.out, aten::prod: not native by the coverage table "
    assert warned(lambda x: (x.argmax(), x.prod(), x.argmax(0)), ones(2, 2)) == [f"{text}snapshot-2026-04."]


def test_operators_of_the_backward_pass_are_named_too() -> None:
    def function(x: Tensor) -> Tensor:
        return F.batch_norm(x, None, None, training=True).sum()

    (with_gradients,) = warned(function, ones(2, 3, requires_grad=True))
    assert "aten::native_batch_norm, aten::native_batch_norm_backward" in with_gradients
    reset_dynamo_metrics()
    torch._dynamo.reset()
    with torch.no_grad():
        (without,) = warned(function, ones(2, 3, requires_grad=True))
    assert "backward" not in without


def test_once_for_each_set_of_operators_until_reset() -> None:
    assert len(warned(lambda x: x + 1, ones(2))) == 1
    assert warned(lambda x: x * 2, ones(2)) == []
    assert len(warned(lambda x: x.argmax(), ones(2))) == 1
    assert warned(lambda x: x.argmax() + 1, ones(2)) == []
    reset_dynamo_metrics()
    assert len(warned(lambda x: x + 2, ones(2))) == 1


def test_a_warning_turned_into_an_error_comes_again() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="neuron")
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error", CompileWarning)
            with pytest.raises(RuntimeError, match="CompileWarning"):
                compiled(ones(2))


def test_shapes_that_became_dynamic_are_named() -> None:
    def function(x: Tensor) -> Tensor:
        return x + 1

    assert warned(function, ones(2, 3)) == [EAGER]
    assert warned(function, ones(4, 3)) == [f"{EAGER} It fails on the graph's dynamic shapes, too: pass dynamic=False."]


def test_fixed_shapes_stay_fixed_with_dynamic_false() -> None:
    def function(x: Tensor) -> Tensor:
        return x + 1

    assert warned(function, ones(2, 3), dynamic=False) == [EAGER]
    assert warned(function, ones(4, 3), dynamic=False) == []


def test_options_are_named_as_ignored() -> None:
    assert warned(lambda x: x + 1, ones(2), options={"opt_level": 2}) == [f"{EAGER} Ignored options: opt_level."]


def test_operators_of_other_libraries_and_of_higher_order_are_named() -> None:
    library = torch.library.Library("tns_dynamo_test", "FRAGMENT")
    library.define("plus_one(Tensor x) -> Tensor")
    library.impl("plus_one", lambda x: x + 1, "CompositeExplicitAutograd")
    torch.library.register_fake("tns_dynamo_test::plus_one", lambda x: torch.empty_like(x), lib=library)
    (text,) = warned(lambda x: torch.ops.tns_dynamo_test.plus_one(x), ones(2))
    assert "fails on tns_dynamo_test::plus_one:" in text

    def function(x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, [x])

    (text,) = warned(function, ones(2))
    assert "fails on higher_order::cond:" in text


def test_routes_are_those_of_the_table_in_force() -> None:
    names = ["aten::add.Tensor", "aten::view", "aten::t", "aten::native_group_norm", "aten::_thnn_fused_lstm_cell"]
    found = graph_ops.not_native(names)
    rows = torch_neuron_sim.coverage.coverage_table().rows
    assert found == [rows[name].recorded_as for name in names if name in rows and rows[name].route != "native"]
    assert len(found) == 2
