"""Matrix products, convolutions and attention, by numbers worked out by hand for one core of Trainium2.

The Tensor engine runs at 2.4 GHz; an instruction takes 128 rows (K), 128 stationary and 512 moving columns, and a cycle
for each moving column, no less than min(64, stationary columns). Its first 3 us run at half the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

BF16, F32 = "bfloat16", "float32"


@pytest.fixture(autouse=True)
def _trainium2(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2")


@pytest.fixture
def product(estimate: Callable[..., Any]) -> Callable[..., Any]:
    def run(m: int, k: int, n: int, dtype: str = BF16) -> Any:
        return estimate("matmul", [((m, k), dtype), ((k, n), dtype)], [((m, n), dtype)])

    return run


def test_one_full_instruction(product: Callable[..., Any]) -> None:
    # 512 cycles / 2.4 = 213.3 ns; all of it in the first 3 us, so as much again. 2 x 128 x 128 x 512 flop.
    found = product(128, 128, 512)
    assert found["tensor_ns"] == pytest.approx(213.3, abs=0.1)
    assert found["ramp_ns"] == pytest.approx(213.3, abs=0.1)
    assert found["flops"] == 16_777_216


def test_a_large_product(product: Callable[..., Any]) -> None:
    # 32 x 32 x 8 instructions of 512 cycles: 4,194,304 / 2.4 = 1,747,626.7 ns = 78.6 TFLOPS; half of 3 us is lost.
    # Neither operand (32 MiB) fits in half of SBUF, 14 MiB: one is read in three parts, for each of which the other is
    # read whole. With the result 5 x 32 MiB.
    found = product(4096, 4096, 4096)
    assert found["tensor_ns"] == pytest.approx(1_747_626.7, abs=0.1)
    assert found["ramp_ns"] == 1_500
    assert found["flops"] / found["tensor_ns"] / 1e3 == pytest.approx(78.6, abs=0.1)
    assert found["bytes"] == 5 * 32 * 2**20
    assert found["memory_ns"] == pytest.approx(5 * 2**25 / 362.5, abs=0.1)
    assert found["bound"] == "tensor"
    assert found["total_ns"] == pytest.approx(2_600 + 1_747_626.7 + 1_500, abs=0.1)


def test_float32_takes_four_passes(product: Callable[..., Any]) -> None:
    assert product(512, 512, 512, F32)["tensor_ns"] == pytest.approx(4 * product(512, 512, 512)["tensor_ns"])


def test_float8_takes_two_rows_at_once(product: Callable[..., Any]) -> None:
    # K = 256 in one instruction of 512 cycles.
    assert product(128, 256, 512, "float8_e5m2")["tensor_ns"] == pytest.approx(213.3, abs=0.1)
    assert product(128, 256, 512)["tensor_ns"] == pytest.approx(426.7, abs=0.1)


def test_the_better_of_the_two_roles_is_taken(product: Callable[..., Any]) -> None:
    # (1, 4096) x (4096, 4096). Moving the one row: 32 K tiles x 32 stationary tiles x max(64, 1) = 65,536 cycles.
    # Holding it: 32 K tiles x 8 moving tiles x 512 = 131,072 cycles. 65,536 / 2.4 = 27,306.7.
    found = product(1, 4096, 4096)
    assert found["tensor_ns"] == pytest.approx(27_306.7, abs=0.1)
    assert found["tensor_ns"] == product(4096, 4096, 1)["tensor_ns"]
    # A decode step reads the weights: 32 MiB / 362.5 = 92,564 ns and more.
    assert found["bound"] == "memory"


def test_tiles_that_are_not_full(product: Callable[..., Any]) -> None:
    # K = 130: 2 tiles. Stationary 130: tiles of 128 and 2; moving 520: tiles of 512 and 8.
    # First: 512 + max(64, 8) = 576. Second: 512 + max(2, 8) = 520. Sum 1,096.
    # Other role, stationary 520 = 4 x 128 + 8, moving 130: 4 x 130 + 130 = 650, which is less. 2 x 650 / 2.4 = 541.7.
    assert product(130, 130, 520)["tensor_ns"] == pytest.approx(541.7, abs=0.1)


def test_results_leave_by_the_vector_engine(product: Callable[..., Any]) -> None:
    # 128 x 512 results, 512 a lane: 512 / 0.96 = 533.3.
    assert product(128, 128, 512)["vector_ns"] == pytest.approx(533.3, abs=0.1)


def test_a_batch_is_a_sum(estimate: Callable[..., Any], product: Callable[..., Any]) -> None:
    found = estimate("matmul", [((16, 128, 64), BF16), ((16, 64, 256), BF16)], [((16, 128, 256), BF16)])
    one = product(128, 64, 256)
    assert found["tensor_ns"] == pytest.approx(16 * one["tensor_ns"])
    assert found["flops"] == 16 * one["flops"]
    assert found["bytes"] == 16 * one["bytes"]


@pytest.mark.parametrize(
    ("a", "b", "out", "flops"),
    [
        ((64,), (64,), (), 2 * 64),
        ((32, 64), (64,), (32,), 2 * 32 * 64),
        ((8, 32, 64), (64, 16), (8, 32, 16), 2 * 8 * 32 * 64 * 16),
        ((96, 64), (4, 64, 16), (96, 16), 2 * 96 * 64 * 16),  # groups of 24 rows
    ],
)
def test_shapes_of_factors(
    estimate: Callable[..., Any], a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...], flops: int
) -> None:
    assert estimate("matmul", [(a, F32), (b, F32)], [(out, F32)])["flops"] == flops


def test_a_factor_may_lie_in_either_order(estimate: Callable[..., Any]) -> None:
    b = ((256, 512), BF16, (1, 256))
    found = estimate("matmul", [((128, 256), BF16), b], [((128, 512), BF16)])
    assert found == estimate("matmul", [((128, 256), BF16), b[:2]], [((128, 512), BF16)])


def test_linear_is_the_product_with_the_transposed_weight(
    estimate: Callable[..., Any], product: Callable[..., Any]
) -> None:
    found = estimate("linear", [((4, 32, 256), BF16), ((512, 256), BF16), None], [((4, 32, 512), BF16)])
    expected = product(128, 256, 512)
    assert found["tensor_ns"] == expected["tensor_ns"]
    assert found["bytes"] == expected["bytes"]
    biased = estimate("linear", [((4, 32, 256), BF16), ((512, 256), BF16), ((512,), BF16)], [((4, 32, 512), BF16)])
    assert biased["bytes"] == expected["bytes"] + 2 * 512


def test_backward_of_linear_is_a_product_for_each_gradient_asked_for(
    estimate: Callable[..., Any], product: Callable[..., Any]
) -> None:
    grad, x, weight = ((128, 512), BF16), ((128, 256), BF16), ((512, 256), BF16)
    both = estimate("linear_backward", [grad, x, weight], [x, weight, None])
    of_x = estimate("linear_backward", [grad, x, weight], [x, None, None])
    assert of_x["tensor_ns"] == product(128, 512, 256)["tensor_ns"]
    assert both["tensor_ns"] == of_x["tensor_ns"] + product(512, 128, 256)["tensor_ns"]


def test_convolution_is_a_product_over_patches(estimate: Callable[..., Any], product: Callable[..., Any]) -> None:
    # 8 images of 30 x 30 places, patches of 64 x 3 x 3, 128 channels out.
    image, weight, out = ((8, 64, 32, 32), BF16), ((128, 64, 3, 3), BF16), ((8, 128, 30, 30), BF16)
    found = estimate("convolution", [image, weight, None], [out])
    expected = product(128, 64 * 9, 8 * 30 * 30)
    assert found["tensor_ns"] == expected["tensor_ns"]
    assert found["flops"] == expected["flops"] == 2 * 128 * 576 * 7200
    # Patches are made on chip.
    assert found["bytes"] == 2 * (8 * 64 * 32 * 32 + 128 * 64 * 9 + 8 * 128 * 30 * 30)


def test_grouped_convolution_multiplies_within_groups(
    estimate: Callable[..., Any], product: Callable[..., Any]
) -> None:
    image, weight, out = ((2, 64, 16, 16), BF16), ((64, 1, 3, 3), BF16), ((2, 64, 14, 14), BF16)
    found = estimate("convolution", [image, weight, None], [out])
    assert found["flops"] == 64 * product(1, 9, 2 * 14 * 14)["flops"]


def test_transposed_convolution_does_the_work_of_its_forward(estimate: Callable[..., Any]) -> None:
    # 32 x 32 places of 64 channels, each times a patch of 16 x 4 x 4.
    image, weight, out = ((2, 64, 32, 32), BF16), ((64, 16, 4, 4), BF16), ((2, 16, 64, 64), BF16)
    found = estimate("convolution", [image, weight, None], [out], transposed=1)
    assert found["flops"] == 2 * (2 * 32 * 32) * 64 * (16 * 4 * 4)


def test_backward_of_convolution_is_two_products_of_the_size_of_the_forward(estimate: Callable[..., Any]) -> None:
    image, weight, out = ((8, 64, 32, 32), BF16), ((128, 64, 3, 3), BF16), ((8, 128, 30, 30), BF16)
    forward = estimate("convolution", [image, weight, None], [out])
    backward = estimate("convolution_backward", [out, image, weight], [image, weight, None])
    assert backward["flops"] == 2 * forward["flops"]
    weight_only = estimate("convolution_backward", [out, image, weight], [None, weight, None])
    assert weight_only["flops"] == forward["flops"]


def test_attention_keeps_its_scores_on_chip(estimate: Callable[..., Any], product: Callable[..., Any]) -> None:
    q, kv = ((2, 8, 256, 64), BF16), ((2, 2, 512, 64), BF16)
    found = estimate("attention", [q, kv, kv, None], [q])
    assert found["bytes"] == 2 * (2 * 2 * 8 * 256 * 64 + 2 * 2 * 2 * 512 * 64)
    assert found["tensor_ns"] == pytest.approx(
        16 * (product(256, 64, 512)["tensor_ns"] + product(256, 512, 64)["tensor_ns"])
    )
    # Exponentials: 16 x 256 x 512 elements, 16,384 a lane: 16,384 / 1.2 = 13,653.3.
    assert found["scalar_ns"] == pytest.approx(13_653.3, abs=0.1)
    backward = estimate("attention_backward", [q, q, kv, kv], [q, kv, kv])
    assert backward["tensor_ns"] == pytest.approx(2.5 * found["tensor_ns"], rel=0.2)
