"""What holds for every estimate, and what no single formula says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_neuron_sim import _C
from torch_neuron_sim.hardware import chips

CHIPS = ("trainium2", "trainium3")
DTYPES = ("float32", "bfloat16", "float8_e5m2", "int64", "int32", "bool")
ENGINES = {"tensor_ns": "tensor", "vector_ns": "vector", "scalar_ns": "scalar", "gpsimd_ns": "gpsimd"}

Tensor = tuple[tuple[int, ...], str, tuple[int, ...]]
Call = tuple[str, list[Tensor | None], list[Tensor | None], dict[str, float], list[int], int]


def dense(sizes: tuple[int, ...], dtype: str) -> Tensor:
    return sizes, dtype, ()


# Functions from three sizes and a dtype to a call; in all of them the work grows with each size.
def product(m: int, k: int, n: int, dtype: str) -> Call:
    return "matmul", [dense((m, k), dtype), dense((k, n), dtype)], [dense((m, n), dtype)], {}, [], 0


def linear_backward(m: int, k: int, n: int, dtype: str) -> Call:
    grad, x, weight = dense((m, n), dtype), dense((m, k), dtype), dense((n, k), dtype)
    return "linear_backward", [grad, x, weight], [x, weight, dense((n,), dtype)], {}, [], 0


def convolution(m: int, k: int, n: int, dtype: str) -> Call:
    image, weight, out = dense((m, k, n + 2, 9), dtype), dense((n, k, 3, 3), dtype), dense((m, n, n, 7), dtype)
    return "convolution", [image, weight, None], [out], {}, [], 0


def attention(m: int, k: int, n: int, dtype: str) -> Call:
    q, kv = dense((2, 4, m, k), dtype), dense((2, 2, n, k), dtype)
    return "attention", [q, kv, kv, None], [q], {}, [], 0


def whole(name: str, inputs: int, dims: list[int] | None = None, **attributes: float) -> Any:
    def make(m: int, k: int, n: int, dtype: str) -> Call:
        x = dense((m, k, n), dtype)
        return name, [x] * inputs, [x], attributes, dims or [], 0

    return make


def reduction(dims: list[int], **attributes: float) -> Any:
    def make(m: int, k: int, n: int, dtype: str) -> Call:
        sizes = tuple(1 if i in dims else size for i, size in enumerate((m, k, n)))
        return "reduction", [dense((m, k, n), dtype)], [dense(sizes, dtype)], attributes, dims, 0

    return make


def gather(m: int, k: int, n: int, dtype: str) -> Call:
    return "gather", [dense((m, n), dtype), dense((k,), "int64")], [dense((k, n), dtype)], {}, [0], 0


def topk(m: int, k: int, n: int, dtype: str) -> Call:
    kept = dense((m, k, min(n, 7)), dtype)
    return "sort", [dense((m, k, n), dtype)], [kept], {}, [-1], 7


CALLS = {
    "matmul": product,
    "linear_backward": linear_backward,
    "convolution": convolution,
    "attention": attention,
    "copy": whole("copy", 1),
    "transpose": whole("transpose", 1),
    "fill": whole("fill", 0),
    "unary": whole("unary", 1),
    "binary": whole("binary", 2, arithmetic=1),
    "division": whole("division", 2),
    "transcendental": whole("transcendental", 1),
    "exp": whole("elementwise", 1, exp=1),
    "power": whole("power", 2),
    "affine": whole("affine", 1),
    "scan": whole("scan", 1, [1]),
    "softmax": whole("softmax", 1, [2]),
    "norm": whole("norm", 1),
    "sum of all": reduction([0, 1, 2], by_matmul=1, arithmetic=1),
    "sum of rows": reduction([2], by_matmul=1, arithmetic=1),
    "sum of columns": reduction([0], by_matmul=1, arithmetic=1),
    "maximum of columns": reduction([1], arithmetic=1),
    "gather": gather,
    "topk": topk,
}

calls = st.sampled_from(sorted(CALLS))
sizes = st.one_of(st.integers(1, 40), st.integers(1, 3000))
shapes = st.tuples(sizes, sizes, sizes)
dtypes = st.sampled_from(DTYPES)
models = st.builds(lambda chip, lnc: chips.shipped(chip).model(lnc), st.sampled_from(CHIPS), st.sampled_from([1, 2]))


def run(call: Call, model: Mapping[str, float]) -> dict[str, Any]:
    _C.set_chip(model)
    return dict(_C.estimate(*call))


@given(calls, shapes, dtypes, models)
def test_total_is_no_less_than_any_bound(name: str, shape: tuple[int, int, int], dtype: str, model: Any) -> None:
    found = run(CALLS[name](*shape, dtype), model)
    peak = model["lnc"] * model["memory_bandwidth"]
    assert found["total_ns"] >= found["bytes"] / peak * (1 - 1e-12)
    assert found["memory_ns"] >= found["bytes"] / peak * (1 - 1e-12)
    for engine in ENGINES:
        assert found["total_ns"] >= found[engine] >= 0
    assert found["total_ns"] >= found["latency_ns"] == 2 * model["dma_latency"]
    rows = model["tensor_rows_fp8" if dtype == "float8_e5m2" else "tensor_rows"]
    flops_per_ns = 2 * rows * model["tensor_stationary"] * model["tensor_clock"] * model["lnc"]
    if name in ("matmul", "linear_backward", "convolution"):
        assert found["tensor_ns"] >= found["flops"] / flops_per_ns * (1 - 1e-12)


@given(calls, shapes, dtypes, models)
def test_bound_names_what_decides(name: str, shape: tuple[int, int, int], dtype: str, model: Any) -> None:
    found = run(CALLS[name](*shape, dtype), model)
    limits = {kind: found[engine] for engine, kind in ENGINES.items()} | {"memory": found["memory_ns"]}
    limits["tensor"] += found["ramp_ns"]
    longest = max(limits.values())
    assert found["total_ns"] == pytest.approx(found["latency_ns"] + longest)
    if found["bound"] == "latency":
        assert longest <= found["latency_ns"]
    else:
        assert limits[found["bound"]] == longest >= found["latency_ns"]


@given(calls, shapes, dtypes, models, st.integers(0, 2), st.integers(1, 500))
def test_more_work_takes_no_less_time(
    name: str, shape: tuple[int, int, int], dtype: str, model: Any, axis: int, more: int
) -> None:
    larger = tuple(size + more * (i == axis) for i, size in enumerate(shape))
    small, large = (run(CALLS[name](*each, dtype), model) for each in (shape, larger))
    for key in ("memory_ns", "bytes", "flops"):
        assert large[key] >= small[key] * (1 - 1e-12), key
    # A reduction goes to the Tensor engine when a dimension joins that is kept; the least that an instruction of the
    # Vector engine takes falls away then.
    least = model["instruction_cycles"] / model["vector_clock"] if name.startswith("sum") else 0
    assert large["total_ns"] >= small["total_ns"] * (1 - 1e-12) - least


@given(calls, shapes, dtypes, st.sampled_from(CHIPS))
def test_two_cores_are_faster_but_not_more_than_twice(
    name: str, shape: tuple[int, int, int], dtype: str, chip: str
) -> None:
    one, two = (run(CALLS[name](*shape, dtype), chips.shipped(chip).model(lnc)) for lnc in (1, 2))
    assert one["total_ns"] / 2 <= two["total_ns"] * (1 + 1e-12)
    assert two["total_ns"] <= one["total_ns"] * (1 + 1e-12)
    assert two["bytes"] <= one["bytes"]  # more on-chip memory, fewer reads
    assert two["flops"] == pytest.approx(one["flops"], rel=0.01)


@given(calls, shapes, dtypes, models, st.sampled_from([0.5, 2, 8]))
def test_times_scale_with_the_unit_of_time(
    name: str, shape: tuple[int, int, int], dtype: str, model: Any, scale: float
) -> None:
    """If a formula added a time to something that is none, or took a clock for a period, this would not hold."""
    scaled = dict(model)
    for constant, dimension in chips.DIMENSIONS.items():
        if constant in scaled and dimension == "time":
            scaled[constant] *= scale
        if constant in scaled and dimension in ("frequency", "bandwidth"):
            scaled[constant] /= scale
    scaled["memory_bandwidth"] /= scale
    before, after = (run(CALLS[name](*shape, dtype), each) for each in (model, scaled))
    for key, value in before.items():
        expected = value * scale if key.endswith("_ns") else value
        assert after[key] == (pytest.approx(expected, rel=1e-9) if isinstance(value, float) else expected), key


@given(st.integers(1, 10**6), models)
def test_longer_rows_move_faster_up_to_the_full_rate(length: int, model: Any) -> None:
    _C.set_chip(model)
    short, long = (_C.estimate("fill", [], [((4096, each), "bool", (2 * each, 1))]) for each in (length, 2 * length))
    assert long["memory_ns"] / long["bytes"] <= short["memory_ns"] / short["bytes"] * (1 + 1e-12)
    assert long["bytes"] / long["memory_ns"] <= model["lnc"] * model["memory_bandwidth"] * (1 + 1e-12)


@given(calls, shapes, dtypes, models, st.sampled_from(sorted(chips.shipped("trainium2").model(1))))
def test_no_better_constant_makes_anything_slower(
    name: str, shape: tuple[int, int, int], dtype: str, model: Any, constant: str
) -> None:
    """Higher clocks, bandwidths and widths, shorter times and fewer cycles: nothing takes longer."""
    dimension = chips.DIMENSIONS.get(constant)
    if constant == "memory_bandwidth" or dimension in ("frequency", "bandwidth", "width"):
        better = model[constant] * 2
    elif dimension in ("time", "cycles", "cycles per element") or constant.endswith("_passes"):
        better = model[constant] / 2
    else:
        return
    before, after = (run(CALLS[name](*shape, dtype), each) for each in (model, {**model, constant: better}))
    assert after["total_ns"] <= before["total_ns"] * (1 + 1e-12)
