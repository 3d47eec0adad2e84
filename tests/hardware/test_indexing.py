"""Gather and scatter, by numbers worked out by hand for one core of Trainium2.

Each row, or element, takes a descriptor, one a GpSimd cycle (1.2 GHz) after 150; rows move at the rate of their length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

TABLE = ((50_000, 1024), "bfloat16")
INDICES = ((4, 512), "int64")


@pytest.fixture(autouse=True)
def _trainium2(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2")


def test_embedding_moves_rows(estimate: Callable[..., Any]) -> None:
    # 2,048 rows of 2,048 bytes: (150 + 2,048) / 1.2 = 1,831.7. Rows at 9/8 * 2048 / 2560 = 0.9 of the rate:
    # 4,194,304 / 326.25 = 12,856.1; the result, 32 KiB a partition, at all of it: 11,570.5; 16,384 bytes of indices,
    # 128 a partition, at 9/8 * 128 / 640 = 0.225: 200.9.
    found = estimate("gather", [TABLE, INDICES], [((4, 512, 1024), "bfloat16")])
    assert found["gpsimd_ns"] == pytest.approx(1_831.7, abs=0.1)
    assert found["memory_ns"] == pytest.approx(12_856.1 + 11_570.5 + 200.9, abs=0.2)
    assert found["bytes"] == 2 * 4_194_304 + 16_384


def test_single_elements_are_slow(estimate: Callable[..., Any]) -> None:
    # 1,048,576 elements of 4 bytes, at 9/8 * 4 / 516 = 0.00872 of the rate: 1,326,812 ns, and as many descriptors:
    # (150 + 1,048,576) / 1.2 = 873,938 ns.
    x, index = ((1024, 4096), "float32"), ((1024, 1024), "int64")
    found = estimate("gather", [x, index], [((1024, 1024), "float32")], dims=(1,), elements=1)
    assert found["gpsimd_ns"] == pytest.approx(873_938, abs=1)
    assert found["memory_ns"] == pytest.approx(1_326_812 + (8 + 4) * 1_048_576 / 362.5, rel=1e-4)
    assert found["bound"] == "memory"


def test_along_an_inner_dimension_rows_are_shorter_and_more(estimate: Callable[..., Any]) -> None:
    x, index = ((1024, 64, 32), "float32"), ((16,), "int64")
    found = estimate("gather", [x, index], [((1024, 16, 32), "float32")], dims=(1,))
    # 1,024 x 16 rows of 32 elements.
    assert found["gpsimd_ns"] == pytest.approx((150 + 16_384) / 1.2)


def test_advanced_indexing_counts_rows_after_the_last_index(estimate: Callable[..., Any]) -> None:
    x, i = ((64, 64, 128), "float32"), ((100,), "int64")
    assert estimate("gather", [x, i, i], [((100, 128), "float32")])["gpsimd_ns"] == pytest.approx(250 / 1.2)
    # x[:, i]: 64 x 100 rows.
    assert estimate("gather", [x, None, i], [((64, 100, 128), "float32")])["gpsimd_ns"] == pytest.approx(6_550 / 1.2)
    # A mask over two dimensions that is true at 10 places.
    mask = ((64, 64), "bool")
    assert estimate("gather", [x, mask], [((10, 128), "float32")])["gpsimd_ns"] == pytest.approx(160 / 1.2)


def test_scatter_into_a_copy_and_in_place(estimate: Callable[..., Any]) -> None:
    x, source, index = ((1024, 1024), "float32"), ((128, 1024), "float32"), ((128,), "int64")
    in_place = estimate("scatter", [x, source, index], [x], dims=(0,), in_place=1)
    # 128 rows of 4,096 bytes are read from the source and written; 1,024 bytes of indices.
    assert in_place["bytes"] == 2 * 128 * 4096 + 1024
    assert in_place["gpsimd_ns"] == pytest.approx(278 / 1.2)
    copied = estimate("scatter", [x, source, index], [x], dims=(0,))
    assert copied["bytes"] == in_place["bytes"] + 2 * 4 * 1024 * 1024


def test_accumulating_reads_what_is_there(estimate: Callable[..., Any]) -> None:
    x, source, index = ((1024, 1024), "float32"), ((128, 1024), "float32"), ((128,), "int64")
    replaced = estimate("scatter", [x, source, index], [x], dims=(0,), in_place=1)
    added = estimate("scatter", [x, source, index], [x], dims=(0,), in_place=1, accumulate=1)
    assert added["bytes"] == replaced["bytes"] + 128 * 4096
    assert (replaced["flops"], added["flops"]) == (0, 128 * 1024)


def test_gradient_of_an_embedding_starts_from_zeros(estimate: Callable[..., Any]) -> None:
    grad = ((4, 512, 1024), "bfloat16")
    found = estimate("scatter", [None, grad, INDICES], [TABLE], accumulate=1)
    # Rows of the gradient are read; rows of the table read and written; the whole table is written once before.
    assert found["bytes"] == 3 * 4_194_304 + 16_384 + 2 * 50_000 * 1024
    assert found["gpsimd_ns"] == pytest.approx((150 + 2_048) / 1.2)


def test_two_cores_share_the_descriptors(estimate: Callable[..., Any], use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2", lnc=2)
    found = estimate("gather", [TABLE, INDICES], [((4, 512, 1024), "bfloat16")])
    assert found["gpsimd_ns"] == pytest.approx((150 + 1_024) / 1.2)
