"""Compile keys in the report: read, taken over a period, and the shapes that multiply them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_neuron_sim import compile_cache, op_report, record
from torch_neuron_sim.report import compilations
from torch_neuron_sim.report.compilations import Compilations, CompileKey, TensorKey
from torch_neuron_sim.report.recompiles import SHOWN_VALUES, multiplied
from torch_neuron_sim.report.rows import Place

STATS = {"total_compilations": 3, "persistent_hits": 1, "evictions": 2, "dropped": 4}
Key = Callable[..., CompileKey]


def test_rows_of_the_extension() -> None:
    common = {"static": "dim=1", "hits": 2, "first_ns": 9, "persistent": False}
    late = {**common, "op": "aten::b", "inputs": [((), "int64")], "first_use": 8, "site": None}
    early = {**common, "op": "aten::a", "inputs": [((2, 3), "float32")], "first_use": 5, "site": ("a.py", 1, "f")}
    found = compilations.from_rows([late, early], STATS)
    assert [key.op for key in found.keys] == ["aten::a", "aten::b"]
    assert found.keys[0] == CompileKey(
        "aten::a", (TensorKey((2, 3), "float32"),), "dim=1", 3, True, False, 5, 9, Place("a.py", 1, "f")
    )
    assert found.keys[1].site is None
    assert (found.compiled, found.loaded, found.evictions, found.dropped, found.distinct) == (3, 1, 2, 4, 6)


def test_a_period_has_the_keys_that_it_used(key: Key) -> None:
    unused, used, new = key("a", (1,)), key("a", (2,), calls=5), key("a", (3,), calls=2)
    before = Compilations([unused, used], compiled=2, loaded=1)
    after = Compilations([unused, replace(used, calls=9), new], compiled=3, loaded=1, dropped=1)
    found = after.minus(before)
    assert found.keys == [replace(used, calls=4, compiled=False), new]
    assert (found.compiled, found.loaded, found.dropped, found.distinct) == (1, 0, 1, 3)


def test_a_cache_that_was_cleared_counts_from_zero(key: Key) -> None:
    old = key("a", (1,), calls=7)
    again = replace(old, calls=3, first_use=old.first_use + 10)
    found = Compilations([again], compiled=1).minus(Compilations([old], compiled=5))
    assert found.keys == [again]
    assert found.compiled == 1


def test_two_periods_together(key: Key) -> None:
    one, other = key("a", (1,), calls=7), key("b", (1,))
    first = Compilations([one], compiled=1, loaded=2, evictions=3, dropped=4)
    found = first.plus(Compilations([replace(one, calls=2, compiled=False), other], compiled=1))
    assert found == Compilations([replace(one, calls=9), other], 2, 2, 3, 4)


def test_of_what_ran() -> None:
    compile_cache.clear()
    x = torch.ones(3, 17, device="neuron")
    x.exp()
    with record() as outer:
        x.exp()
        with record() as inner:
            for length in (2, 3, 4, 5, 6):
                torch.ones(length, 17, device="neuron").exp()
    for report in (outer, inner):
        assert report.compilations is not None
        keys = [key for key in report.compilations.keys if key.op == "aten::exp"]
        assert [(key.inputs, key.calls) for key in keys if not key.compiled] == [
            ((TensorKey((3, 17), "float32"),), 2 if report is outer else 1)
        ]
        assert [key.inputs[0].shape for key in keys if key.compiled] == [(2, 17), (4, 17), (5, 17), (6, 17)]
        assert report.time is not None
        assert report.time.first_run_s > 0
        (found,) = (each for each in report.multiplied if each.op == "aten::exp")
        assert (found.keys, found.input, found.dimension, found.values) == (5, 0, 0, (2, 3, 4, 5, 6))
    whole = op_report().compilations
    assert whole is not None
    assert {key.identity for key in outer.compilations.keys} <= {key.identity for key in whole.keys}


def test_one_key_is_not_multiplied(key: Key) -> None:
    assert multiplied([key("a", (1,)), key("b", (1,))]) == []
    assert multiplied([]) == []


def test_a_length_in_several_places_is_one_dimension(key: Key) -> None:
    found = multiplied([key("bmm", (8, n, n), (8, n, 64), calls=n) for n in (10, 20, 30)])
    (one,) = found
    assert (one.keys, one.calls, one.input, one.dimension, one.values, one.value_count) == (
        3,
        60,
        0,
        1,
        (10, 20, 30),
        3,
    )
    assert str(one) == "dimension 1 of input 0 took 3 values (10, 20, 30)"


def test_layers_of_other_sizes_are_no_varying_dimension(key: Key) -> None:
    (found,) = multiplied([key("linear", (8, 32), (64, 32)), key("linear", (8, 64), (10, 64))])
    assert (found.input, found.dimension, found.values) == (None, None, ())
    assert str(found) == "several dimensions change together"


def test_dtypes_and_static_arguments_are_told_apart(key: Key) -> None:
    half = (TensorKey((2,), "float16"),)
    (found,) = multiplied([key("sum", (2,), static="dim=0"), key("sum", (2,), static="dim=1"), key("sum", inputs=half)])
    assert (found.dtypes, found.statics, found.dimension) == (2, 3, None)
    assert str(found) == "2 combinations of dtypes; 3 static arguments"


def test_most_keys_first_and_many_values_are_cut(key: Key) -> None:
    many = [key("b", (length, 4)) for length in range(5, 25)]
    found = multiplied([key("a", (1,)), key("a", (2,)), *many])
    assert [each.op for each in found] == ["b", "a"]
    assert found[0].values == tuple(range(5, 5 + SHOWN_VALUES))
    assert str(found[0]).endswith(" and 12 more)")


@given(st.lists(st.integers(1, 50), min_size=2, max_size=12, unique=True), st.integers(0, 2))
def test_the_dimension_that_varies_alone_is_found(values: list[int], dimension: int) -> None:
    def shape(value: int) -> tuple[int, ...]:
        sizes = [101, 102, 103]
        sizes[dimension] = value
        return tuple(sizes)

    keys = [
        CompileKey("a", (TensorKey((7,), "int64"), TensorKey(shape(value), "float32")), "", 1, True, False, i, i, None)
        for i, value in enumerate(values)
    ]
    (found,) = multiplied(keys)
    if 7 in values and len(values) == 2:
        return  # the size 7 of the other input is then taken for the same length
    assert (found.input, found.dimension) == (1, dimension)
    assert found.value_count == len(set(values) - {7})


@pytest.mark.parametrize("calls", [1, 3])
def test_a_persistent_key_keeps_its_mark(key: Key, calls: int) -> None:
    persistent = key("a", (1,), persistent=True, calls=calls)
    assert Compilations([persistent]).minus(Compilations()).keys == [persistent]
