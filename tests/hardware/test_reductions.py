"""Reductions, scans, softmax, normalisation and sorting, by numbers worked out by hand for one core of Trainium2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

X = ((1024, 1024), "float32")  # 8,192 elements on each of 128 lanes
ROW = ((1024,), "float32")


@pytest.fixture(autouse=True)
def _trainium2(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2")


def test_along_the_last_dimension_the_vector_engine_sums(estimate: Callable[..., Any]) -> None:
    # One element a cycle: 8,192 / 0.96 = 8,533.3.
    for dims in ((1,), (-1,)):
        found = estimate("reduction", [X], [ROW], dims=dims, by_matmul=1, arithmetic=1)
        assert found["vector_ns"] == pytest.approx(8_533.3, abs=0.1)
        assert found["tensor_ns"] == 0


def test_sixteen_bits_are_summed_at_twice_the_rate(estimate: Callable[..., Any]) -> None:
    found = estimate("reduction", [(X[0], "bfloat16")], [(ROW[0], "bfloat16")], dims=(1,), arithmetic=1)
    assert found["vector_ns"] == pytest.approx(4_266.7, abs=0.1)


def test_over_partitions_a_product_with_ones_sums(estimate: Callable[..., Any]) -> None:
    # 8,192 columns, four passes for float32: 32,768 / 2.4 = 13,653.3; one for bfloat16: 3,413.3.
    found = estimate("reduction", [X], [ROW], dims=(0,), by_matmul=1)
    assert found["tensor_ns"] == pytest.approx(13_653.3, abs=0.1)
    assert found["vector_ns"] == 0
    half = estimate("reduction", [(X[0], "bfloat16")], [(ROW[0], "bfloat16")], dims=(0,), by_matmul=1)
    assert half["tensor_ns"] == pytest.approx(3_413.3, abs=0.1)


def test_over_partitions_a_maximum_is_transposed_first(estimate: Callable[..., Any]) -> None:
    # 8,192 columns once, 3,413.3, then 8,533.3 on Vector.
    found = estimate("reduction", [X], [ROW], dims=(0,), arithmetic=1)
    assert found["tensor_ns"] == pytest.approx(3_413.3, abs=0.1)
    assert found["vector_ns"] == pytest.approx(8_533.3, abs=0.1)


def test_to_one_value(estimate: Callable[..., Any]) -> None:
    # Along the lanes on Vector, then 128 values over partitions: 64 cycles, four passes: 256 / 2.4 = 106.7.
    for dims in ((), (0, 1)):
        found = estimate("reduction", [X], [((), "float32")], dims=dims, by_matmul=1)
        assert found["vector_ns"] == pytest.approx(8_533.3, abs=0.1)
        assert found["tensor_ns"] == pytest.approx(106.7, abs=0.1)


def test_along_last_and_another_dimension(estimate: Callable[..., Any]) -> None:
    # 4 x 256 x 1024: along the last 8,192 cycles; then 1,024 rows over partitions, 8 columns, so the least of 64.
    found = estimate("reduction", [((4, 256, 1024), "float32")], [((256,), "float32")], dims=(0, 2), by_matmul=1)
    assert found["vector_ns"] == pytest.approx(8_533.3, abs=0.1)
    assert found["tensor_ns"] == pytest.approx(106.7, abs=0.1)


def test_a_dimension_of_one_is_not_there(estimate: Callable[..., Any]) -> None:
    found = estimate("reduction", [((1024, 1024, 1), "float32")], [((1024, 1), "float32")], dims=(1,), by_matmul=1)
    assert found["vector_ns"] == pytest.approx(8_533.3, abs=0.1)
    assert found["tensor_ns"] == 0


def test_scan(estimate: Callable[..., Any]) -> None:
    # Two cycles an element: 16,384 / 0.96 = 17,066.7; along another dimension 8,192 columns there and back, 6,826.7.
    assert estimate("scan", [X], [X], dims=(-1,))["vector_ns"] == pytest.approx(17_066.7, abs=0.1)
    assert estimate("scan", [X], [X], dims=(0,))["tensor_ns"] == pytest.approx(6_826.7, abs=0.1)


def test_softmax(estimate: Callable[..., Any]) -> None:
    # Maximum 8,533.3 and product with a number 4,266.7 on Vector; exponential 6,826.7 on Scalar; one pass over HBM.
    found = estimate("softmax", [X], [X], dims=(-1,))
    assert found["vector_ns"] == pytest.approx(12_800.0, abs=0.1)
    assert found["scalar_ns"] == pytest.approx(6_826.7, abs=0.1)
    assert found["tensor_ns"] == 0
    assert found["bytes"] == 2 * 4 * 1024 * 1024
    assert found["bound"] == "memory"
    assert estimate("softmax", [X], [X], dims=(0,))["tensor_ns"] == pytest.approx(6_826.7, abs=0.1)


def test_norm(estimate: Callable[..., Any]) -> None:
    # bn_stats and its application, one element a cycle each: 2 x 8,533.3.
    weight, statistics = ((1024,), "float32"), ((1024, 1), "float32")
    found = estimate("norm", [X, weight, weight], [X, statistics, statistics])
    assert found["vector_ns"] == pytest.approx(17_066.7, abs=0.1)
    assert found["bytes"] == 4 * (2 * 1024 * 1024 + 4 * 1024)


def test_topk(estimate: Callable[..., Any]) -> None:
    # 1,024 rows, 8 on each partition, 4 x 1,024 + 10 cycles each: (150 + 32,848) / 1.2 = 27,498.3.
    values = ((1024, 10), "float32")
    found = estimate("sort", [X], [values, (values[0], "int64")], dims=(-1,), count=10)
    assert found["gpsimd_ns"] == pytest.approx(27_498.3, abs=0.1)
    assert found["bound"] == "gpsimd"


def test_sorting_keeps_everything(estimate: Callable[..., Any]) -> None:
    # 8 x (4 x 1,024 + 1,024) = 40,960: (150 + 40,960) / 1.2 = 34,258.3.
    found = estimate("sort", [X], [(X[0], "int64")], dims=(1,))
    assert found["gpsimd_ns"] == pytest.approx(34_258.3, abs=0.1)
