"""Which calls need a program of their own on the device.

Truth is TorchNeuron's rule: operator, shape and dtype of each input, static arguments by value, scalars by type only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import torch_neuron_sim
from torch_neuron_sim import _C


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    _C.clear_compile_cache()
    yield
    _C.set_compile_cache_max_entries(0)
    _C.set_compile_cache_enabled(True)
    torch_neuron_sim.recompile_limit(32)
    _C.clear_compile_cache()


def neuron(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(*shape, dtype=dtype).to("neuron")


def programs(op: str) -> list[Any]:
    return [row for row in _C.compile_cache_rows() if row["op"] == op]


def test_a_program_says_what_it_is_for() -> None:
    x = neuron(2, 3)
    torch.sum(x, [1], keepdim=True)
    (row,) = programs("aten::sum.dim_IntList")
    assert row["inputs"] == [((2, 3), "float32")]
    assert row["static"] == "[1], 1, None"
    assert row["hits"] == 0
    assert row["site"][0] == __file__
    assert row["site"][2] == "test_a_program_says_what_it_is_for"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x: x + 1, lambda x: x + 2),  # int scalars
        (lambda x: x * 1.5, lambda x: x * 2.5),  # float scalars
        (lambda x: torch.clamp(x, 0.5, 1.5), lambda x: torch.clamp(x, 0.1, 0.2)),
        (lambda x: torch.relu(x), lambda x: torch.relu(x.t().contiguous().t())),  # strides
        (lambda x: torch.relu(x), lambda x: torch.relu(x[:, :])),
        (lambda x: torch.dropout(x, 0.5, True), lambda x: torch.dropout(x, 0.25, True)),
    ],
)
def test_what_needs_no_program_of_its_own(first: Callable[..., Any], second: Callable[..., Any]) -> None:
    x = neuron(4, 6)
    first(x)
    before = _C.compile_cache_stats()
    second(x)
    after = _C.compile_cache_stats()
    assert after["total_compilations"] == before["total_compilations"]
    assert after["in_memory_hits"] > before["in_memory_hits"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x: x + 1, lambda x: x + 1.0),  # type of a scalar
        (lambda x: torch.clamp(x, 0), lambda x: torch.clamp(x, 0.0)),
        (lambda x: torch.clamp(x, 0.5), lambda x: torch.clamp(x, max=0.5)),  # an absent argument
        (lambda x: torch.cumsum(x, 0), lambda x: torch.cumsum(x, 1)),  # int
        (lambda x: torch.sum(x, [0]), lambda x: torch.sum(x, [1])),  # list of ints
        (lambda x: torch.sum(x, [0]), lambda x: torch.sum(x, [0], keepdim=True)),  # bool
        (lambda x: torch.sum(x, [0]), lambda x: torch.sum(x, [0], dtype=torch.float16)),  # dtype
        (lambda x: torch.relu(x), lambda x: torch.relu(x[1:])),  # shape
        (lambda x: torch.relu(x), lambda x: torch.relu(x.t())),
        (lambda x: torch.relu(x), lambda x: torch.relu(x[None])),
        (lambda x: torch.relu(x), lambda x: torch.relu(x.to(torch.bfloat16))),  # dtype of an input
        (lambda x: torch.cat([x, x]), lambda x: torch.cat([x, x, x])),  # number of inputs
        (lambda x: torch.nn.functional.gelu(x), lambda x: torch.nn.functional.gelu(x, approximate="tanh")),  # text
    ],
)
def test_what_needs_a_program_of_its_own(first: Callable[..., Any], second: Callable[..., Any]) -> None:
    x = neuron(4, 6)
    first(x)
    (op,) = {row["op"] for row in _C.compile_cache_rows()}
    second(x)
    assert len(programs(op)) == 2


@given(st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=3), st.sampled_from([torch.float32, torch.int64]))))
def test_there_is_one_program_for_each_shape_and_dtype(calls: list[tuple[list[int], torch.dtype]]) -> None:
    _C.clear_compile_cache()
    made = [torch.ones(shape, dtype=dtype).to("neuron") for shape, dtype in calls]
    for tensor in made:
        torch.abs(tensor)
        torch.sgn(tensor)  # goes through the boxed launch
    expected = {(tuple(shape), str(dtype).removeprefix("torch.")) for shape, dtype in calls}
    for op in ("aten::abs", "aten::sgn"):
        rows = programs(op)
        assert {row["inputs"][0] for row in rows} == expected
        assert len(rows) == len(expected)
        assert sum(row["hits"] for row in rows) == len(calls) - len(expected)


def test_the_careful_path_gives_the_same_program() -> None:
    """A float64 call is typed under the policy exact, else boxed."""
    x, weight = neuron(2, 3, dtype=torch.float64), neuron(4, 3, dtype=torch.float64)
    indices = neuron(2, dtype=torch.int64)

    def calls() -> None:
        torch.add(x, 2.0, alpha=3)
        torch.sum(x, [0], keepdim=True, dtype=torch.float64)
        torch.nn.functional.linear(x, weight)
        torch.clamp(x, max=1)
        torch.nn.functional.layer_norm(x, [3])
        torch.cat([x, x], 1)
        weight[indices]
        torch.nn.functional.gelu(x, approximate="tanh")
        torch.convolution(x[None], weight[:, :2, None], None, [1], [0], [1], False, [0], 1)
        torch._foreach_add([x, x], [x, x], alpha=2)

    torch_neuron_sim.float64_policy("exact")
    calls()
    compiled = _C.compile_cache_stats()["total_compilations"]
    rows = _C.compile_cache_rows()
    torch_neuron_sim.float64_policy("silent")
    calls()
    assert _C.compile_cache_stats()["total_compilations"] == compiled, [
        row for row in _C.compile_cache_rows() if row not in rows
    ]


def test_fallbacks_and_views_compile_nothing() -> None:
    torch_neuron_sim.fallback_policy("silent")
    x = neuron(4, 6)
    torch.argmax(x)
    x.t()[1:].view(-1, 2, 2)
    torch.empty(3, device="neuron")
    x.cpu()
    assert _C.compile_cache_rows() == []


def test_a_call_that_fails_compiles_nothing() -> None:
    with pytest.raises(RuntimeError):
        torch.mm(neuron(2, 3), neuron(2, 3))
    assert programs("aten::mm") == []


def test_hits_of_all_threads_count() -> None:
    x = neuron(3)
    torch.relu(x)
    threads = [threading.Thread(target=lambda: [torch.relu(x) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row["hits"] for row in programs("aten::relu")] == [2000]


def test_a_disabled_cache_compiles_at_every_call() -> None:
    x = neuron(3)
    _C.set_compile_cache_enabled(False)
    for _ in range(3):
        torch.relu(x)
    stats = _C.compile_cache_stats()
    assert (stats["total_compilations"], stats["in_memory_hits"], stats["total_entries"]) == (3, 0, 0)


def test_a_limited_cache_evicts_what_was_used_longest_ago() -> None:
    a, b, c = neuron(1), neuron(2), neuron(3)
    _C.set_compile_cache_max_entries(2)
    for tensor in (a, b, a, c):  # c takes the place of b
        torch.relu(tensor)
    assert {row["inputs"][0][0] for row in programs("aten::relu")} == {(1,), (3,)}
    assert _C.compile_cache_stats()["evictions"] == 1
    torch.relu(b)
    assert _C.compile_cache_stats()["total_compilations"] == 4


def test_a_program_found_on_disk_is_not_compiled(run_python: Callable[..., Any]) -> None:
    code = "import torch, torch_neuron_sim as s; torch.relu(torch.ones(2, 7).to('neuron')); c = s._C\n"
    hashes = run_python(code + "print(c.compile_cache_hashes())").stdout
    found = run_python(
        code.replace("torch.relu", f"s._C.preload_compile_cache({hashes}); torch.relu")
        + "t = c.compile_cache_stats(); print(t['persistent_hits'], t['persistent_misses'], t['total_compilations'])"
    )
    assert found.stdout.split() == ["1", "0", "0"], found.stderr


def test_counters_start_again_when_the_cache_is_cleared() -> None:
    torch.relu(neuron(3))
    _C.clear_compile_cache()
    assert _C.compile_cache_stats()["total_entries"] == 0
    torch.relu(neuron(3))
    assert _C.compile_cache_stats()["total_compilations"] == 1


def test_bytes_are_what_native_operators_read_and_wrote() -> None:
    x, y = neuron(4, 6), neuron(6)
    expected = {
        "aten::add.Tensor": (lambda: x + y, 4 * (24 + 6 + 24)),
        "aten::mul_.Tensor": (lambda: x.mul_(y), 4 * (24 + 6 + 24)),
        "aten::sgn": (lambda: torch.sgn(x), 4 * (24 + 24)),
        "aten::cat": (lambda: torch.cat([x, y[None]]), 4 * (30 + 30)),
        "aten::_foreach_mul_.Scalar": (lambda: torch._foreach_mul_([x, y], 2.0), 4 * 2 * 30),
        "aten::gt.Scalar": (lambda: x > 0, 4 * 24 + 24),
    }
    for op, (call, count) in expected.items():
        torch_neuron_sim.clear_op_tracking()
        call()
        assert {row["op"]: row["bytes"] for row in _C.ledger_rows()}[op] == count, op
