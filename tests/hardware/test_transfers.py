"""Traffic between HBM and the cores, by numbers worked out by hand for one core of Trainium2.

A core moves min(2,900 / 8, 368) = 362.5 bytes/ns. Transfers of b contiguous bytes run at 9/8 * b / (b + 512) of that,
and at all of it from 4 KiB on; a tensor spreads over 128 partitions, and b is at most what one of them holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LATENCY = 2 * 1300  # one for loading, one for storing


@pytest.fixture(autouse=True)
def _trainium2(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2")


def test_a_large_copy_moves_at_full_rate(estimate: Callable[..., Any]) -> None:
    # 1024 x 1024 x 4 = 4,194,304 bytes in and out, 32 KiB a partition. 8,388,608 / 362.5 = 23,141.0 ns.
    found = estimate("copy", [((1024, 1024), "float32")], [((1024, 1024), "float32")])
    assert found["bytes"] == 8_388_608
    assert found["memory_ns"] == pytest.approx(23_141.0, abs=0.1)
    assert found["total_ns"] == pytest.approx(LATENCY + 23_141.0, abs=0.1)
    assert found["bound"] == "memory"


def test_a_small_copy_does_not(estimate: Callable[..., Any]) -> None:
    # 128 x 128 x 4 = 65,536 bytes, 512 a partition: rate 9/8 * 512 / 1024 = 0.5625.
    # 2 * 65,536 / (362.5 * 0.5625) = 642.8.
    found = estimate("copy", [((128, 128), "float32")], [((128, 128), "float32")])
    assert found["memory_ns"] == pytest.approx(642.8, abs=0.1)
    assert found["bound"] == "latency"


def test_one_element_takes_little_more_than_the_latency(estimate: Callable[..., Any]) -> None:
    # 4 bytes: rate 9/8 * 4 / 516 = 0.008721. 2 * 4 / (362.5 * 0.008721) = 2.5 ns.
    found = estimate("copy", [((1,), "float32")], [((1,), "float32")])
    assert found["memory_ns"] == pytest.approx(2.53, abs=0.01)
    assert found["total_ns"] == pytest.approx(2602.53, abs=0.01)


def test_rows_with_gaps_move_at_the_rate_of_a_row(estimate: Callable[..., Any]) -> None:
    # Rows of 64 x 4 = 256 bytes, 8192 of them: rate 9/8 * 256 / 768 = 0.375. 2,097,152 / (362.5 * 0.375) = 15,427.3;
    # the dense result, 16 KiB a partition, at full rate: 2,097,152 / 362.5 = 5,785.2.
    found = estimate("copy", [((8192, 64), "float32", (128, 1))], [((8192, 64), "float32")])
    assert found["memory_ns"] == pytest.approx(15_427.3 + 5_785.2, abs=0.2)


def test_an_expanded_dimension_is_read_once(estimate: Callable[..., Any]) -> None:
    # 1024 x 4 = 4,096 bytes in, 32 a partition: rate 9/8 * 32 / 544 = 0.06618: 170.7 ns. 4 MiB out: 11,570.5.
    found = estimate("copy", [((1024, 1024), "float32", (0, 1))], [((1024, 1024), "float32")])
    assert found["bytes"] == 4_096 + 4_194_304
    assert found["memory_ns"] == pytest.approx(170.7 + 11_570.5, abs=0.1)


def test_two_byte_elements_are_transposed_on_the_way(estimate: Callable[..., Any]) -> None:
    # 2,097,152 bytes at 0.9 of the rate: 6,428.1; the result at all of it: 5,785.2.
    found = estimate("copy", [((1024, 1024), "bfloat16", (1, 1024))], [((1024, 1024), "bfloat16")])
    assert found["memory_ns"] == pytest.approx(6_428.1 + 5_785.2, abs=0.2)
    assert found["tensor_ns"] == 0


def test_a_fill_writes_only(estimate: Callable[..., Any]) -> None:
    found = estimate("fill", [], [((1024, 1024), "float32")])
    assert found["bytes"] == 4_194_304
    assert found["memory_ns"] == pytest.approx(11_570.5, abs=0.1)


def test_a_permuted_result_can_be_filled_as_it_lies(estimate: Callable[..., Any]) -> None:
    dense = estimate("fill", [], [((1024, 512), "float32")])
    assert estimate("fill", [], [((512, 1024), "float32", (1, 512))]) == dense


def test_tensors_that_are_permuted_alike_are_not_transposed(estimate: Callable[..., Any]) -> None:
    permuted = ((8, 64, 32, 32), "float32", (65536, 1, 2048, 64))  # channels last
    found = estimate("unary", [permuted], [permuted])
    dense = estimate("unary", [permuted[:2]], [permuted[:2]])
    assert found == dense
    assert estimate("unary", [permuted], [permuted[:2]])["tensor_ns"] > 0


def test_four_byte_elements_are_transposed_by_the_tensor_engine(estimate: Callable[..., Any]) -> None:
    # 64 tiles of 128 x 128, 128 cycles each: 8,192 / 2.4 = 3,413.3, beside a copy's 23,141.0.
    found = estimate("transpose", [((1024, 1024), "float32")], [((1024, 1024), "float32")])
    assert found["memory_ns"] == pytest.approx(23_141.0, abs=0.1)
    assert found["tensor_ns"] == pytest.approx(3_413.3, abs=0.1)


def test_two_cores_move_twice_as_much(estimate: Callable[..., Any], use_chip: Callable[..., Any]) -> None:
    tensors = [((4096, 1024), "float32")]
    one = estimate("copy", tensors, tensors)
    use_chip("trainium2", lnc=2)
    two = estimate("copy", tensors, tensors)
    assert two["memory_ns"] == pytest.approx(one["memory_ns"] / 2)
    assert two["latency_ns"] == one["latency_ns"] == LATENCY


def test_on_trainium3_the_dma_engines_bind(estimate: Callable[..., Any], use_chip: Callable[..., Any]) -> None:
    # min(4,900 / 8 = 612.5, 528): 8,388,608 / 528 = 15,887.5.
    use_chip("trainium3")
    found = estimate("copy", [((1024, 1024), "float32")], [((1024, 1024), "float32")])
    assert found["memory_ns"] == pytest.approx(15_887.5, abs=0.1)


def test_empty_tensors_and_views_take_no_time(estimate: Callable[..., Any]) -> None:
    for found in (
        estimate("matmul", [((0, 4), "float32"), ((4, 4), "float32")], [((0, 4), "float32")]),
        estimate("free", [((4, 4), "float32")], [((16,), "float32")]),
    ):
        assert found["known"]
        assert found["total_ns"] == found["bytes"] == found["flops"] == 0
        assert found["bound"] == "nothing"


def test_what_is_not_modelled_is_not_known(estimate: Callable[..., Any]) -> None:
    found = estimate("none", [((4, 4), "float32")], [((4,), "int64")])
    assert not found["known"]
    assert found["total_ns"] == 0
