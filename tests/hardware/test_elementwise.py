"""Elementwise ops, by numbers worked out by hand for one core of Trainium2.

1024 x 1024 elements are 8,192 on each of 128 lanes. Vector runs at 0.96 GHz, Scalar and GpSimd at 1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SHAPE = (1024, 1024)
F32, BF16, I32, I64, I8, BOOL = ((SHAPE, dtype) for dtype in ("float32", "bfloat16", "int32", "int64", "int8", "bool"))


@pytest.fixture(autouse=True)
def _trainium2(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2")


def test_tensor_with_scalar(estimate: Callable[..., Any]) -> None:
    # float32: two elements a cycle, 4,096 cycles / 0.96 = 4,266.7. bfloat16: four, 2,048 / 0.96 = 2,133.3.
    assert estimate("unary", [F32], [F32])["vector_ns"] == pytest.approx(4_266.7, abs=0.1)
    assert estimate("unary", [BF16], [BF16])["vector_ns"] == pytest.approx(2_133.3, abs=0.1)


def test_two_tensors(estimate: Callable[..., Any]) -> None:
    # float32: two cycles an element, 16,384 / 0.96 = 17,066.7. bfloat16 sum or product: one, 8,533.3; else two.
    assert estimate("binary", [F32, F32], [F32], arithmetic=1)["vector_ns"] == pytest.approx(17_066.7, abs=0.1)
    assert estimate("binary", [BF16, BF16], [BF16], arithmetic=1)["vector_ns"] == pytest.approx(8_533.3, abs=0.1)
    assert estimate("binary", [BF16, BF16], [BOOL])["vector_ns"] == pytest.approx(17_066.7, abs=0.1)
    assert estimate("binary", [BF16, F32], [F32], arithmetic=1)["vector_ns"] == pytest.approx(17_066.7, abs=0.1)


def test_add_of_bfloat16_is_bound_by_memory_as_the_rates_say(estimate: Callable[..., Any]) -> None:
    # 362.5 bytes/ns over 6 bytes an element are 60 Gelem/s; Vector could do 128 lanes x 0.96 GHz = 123.
    large = ((8192, 8192), "bfloat16")
    found = estimate("binary", [large, large], [large], arithmetic=1)
    elements = 8192 * 8192
    assert elements / found["memory_ns"] == pytest.approx(60.4, abs=0.1)
    assert elements / found["vector_ns"] == pytest.approx(122.9, abs=0.1)
    assert found["bound"] == "memory"


def test_one_tensor_and_a_number_is_unary(estimate: Callable[..., Any]) -> None:
    one = estimate("binary", [F32, ((), "float32")], [F32], arithmetic=1)
    assert one["vector_ns"] == estimate("unary", [F32], [F32])["vector_ns"]


def test_wide_integers_are_computed_exactly_on_gpsimd(estimate: Callable[..., Any]) -> None:
    # (150 + 8,192) / 1.2 = 6,951.7; 64 bits take two: (150 + 16,384) / 1.2 = 13,778.3.
    assert estimate("binary", [I32, I32], [I32], arithmetic=1)["gpsimd_ns"] == pytest.approx(6_951.7, abs=0.1)
    wide = estimate("binary", [I64, I64], [I64], arithmetic=1)
    assert wide["gpsimd_ns"] == pytest.approx(13_778.3, abs=0.1)
    assert wide["vector_ns"] == 0


def test_narrow_integers_and_bits_stay_on_vector(estimate: Callable[..., Any]) -> None:
    for found in (estimate("binary", [I8, I8], [I8]), estimate("binary", [I32, I32], [I32], bitwise=1)):
        assert found["vector_ns"] == pytest.approx(17_066.7, abs=0.1)
        assert found["gpsimd_ns"] == 0


def test_transcendental(estimate: Callable[..., Any]) -> None:
    # One element a cycle and lane: 8,192 / 1.2 = 6,826.7, that is 154 Gelem/s.
    found = estimate("transcendental", [F32], [F32])
    assert found["scalar_ns"] == pytest.approx(6_826.7, abs=0.1)
    assert 1024 * 1024 / found["scalar_ns"] == pytest.approx(153.6, abs=0.1)


def test_exp_moves_to_vector_on_trainium3(estimate: Callable[..., Any], use_chip: Callable[..., Any]) -> None:
    on_scalar = estimate("elementwise", [F32], [F32], exp=1)
    assert (on_scalar["scalar_ns"], on_scalar["vector_ns"]) == (pytest.approx(6_826.7, abs=0.1), 0)
    use_chip("trainium3")
    # Four times the Scalar engine's rate: 2,048 / 1.2 = 1,706.7.
    on_vector = estimate("elementwise", [F32], [F32], exp=1)
    assert (on_vector["scalar_ns"], on_vector["vector_ns"]) == (0, pytest.approx(1_706.7, abs=0.1))


def test_division(estimate: Callable[..., Any]) -> None:
    # Reciprocal 8 cycles an element, product 2: 81,920 / 0.96 = 85,333.3. By a number it is one product.
    assert estimate("division", [F32, F32], [F32])["vector_ns"] == pytest.approx(85_333.3, abs=0.1)
    assert estimate("division", [F32], [F32])["vector_ns"] == pytest.approx(4_266.7, abs=0.1)


def test_power_and_affine_run_on_gpsimd(estimate: Callable[..., Any]) -> None:
    # (150 + 8,192) / 1.2.
    assert estimate("power", [F32], [F32])["gpsimd_ns"] == pytest.approx(6_951.7, abs=0.1)
    made = estimate("affine", [], [F32])
    assert made["gpsimd_ns"] == pytest.approx(6_951.7, abs=0.1)
    assert made["bytes"] == 4 * 1024 * 1024


def test_no_instruction_is_shorter_than_the_least(estimate: Callable[..., Any]) -> None:
    # 64 cycles: 66.7 ns on Vector, 53.3 on Scalar.
    tiny = ((2, 3), "float32")
    assert estimate("unary", [tiny], [tiny])["vector_ns"] == pytest.approx(66.7, abs=0.1)
    assert estimate("transcendental", [tiny], [tiny])["scalar_ns"] == pytest.approx(53.3, abs=0.1)


def test_passes_add_up(estimate: Callable[..., Any]) -> None:
    # Two products of bfloat16: 2 x 8,192 / 0.96; select: 8,192 / 0.96; two activations: 2 x 8,192 / 1.2.
    found = estimate("elementwise", [BF16, BF16], [BF16], tensor_tensor=2, lane=1, activation=2, arithmetic=1)
    assert found["vector_ns"] == pytest.approx(3 * 8_533.3, abs=0.2)
    assert found["scalar_ns"] == pytest.approx(2 * 6_826.7, abs=0.2)
    assert found["flops"] == 5 * 1024 * 1024


def test_a_list_is_one_op_over_all_its_elements(estimate: Callable[..., Any]) -> None:
    found = estimate("binary", [F32, F32, F32, F32], [F32, F32], lead=2, arithmetic=1)
    assert found["vector_ns"] == pytest.approx(2 * 17_066.7, abs=0.2)
    scalar = estimate("binary", [F32, F32], [F32, F32], lead=2, arithmetic=1)
    assert scalar["vector_ns"] == pytest.approx(2 * 4_266.7, abs=0.2)


def test_an_unknown_attribute_class_or_dtype_is_refused(estimate: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="'nonsense' is no attribute"):
        estimate("unary", [F32], [F32], nonsense=1)
    with pytest.raises(ValueError, match=r"no cost class 'nonsense'\. Legal: none, free, host, fill"):
        estimate("nonsense", [F32], [F32])
    with pytest.raises(ValueError, match="no dtype 'complex64'"):
        estimate("unary", [(SHAPE, "complex64")], [F32])
