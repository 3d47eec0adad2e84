"""Random tensors for the tests of this folder, how many of them, and the comparison that also covers what is raised.

A test runs with few examples, the same in every run; ``-m full`` runs it with many new ones, as does the environment
variable ``HYPOTHESIS_PROFILE=full`` for the tests of a default run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, reject, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._pytree import tree_flatten

import torch_neuron_sim

settings.register_profile("few", max_examples=50, deadline=None, derandomize=True, database=None)
settings.register_profile(
    "full", max_examples=2000, deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)


def _is_full_run(config: pytest.Config) -> bool:
    expression = config.getoption("markexpr")
    return "full" in expression and "not full" not in expression


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Hypothesis gives a test the profile that is loaded while its module is imported."""
    before = settings.get_current_profile_name()
    settings.load_profile("full" if _is_full_run(collector.config) else os.environ.get("HYPOTHESIS_PROFILE", "few"))
    try:
        return (yield)
    finally:
        settings.load_profile(before)


def pytest_itemcollected(item: pytest.Item) -> None:
    if _is_full_run(item.config):
        item.add_marker(pytest.mark.full)


@pytest.fixture(autouse=True)
def _silent_and_exact() -> Iterator[None]:
    with torch_neuron_sim.fallback_policy("silent"), torch_neuron_sim.float64_policy("exact"):
        yield


FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.uint8, torch.int8, torch.int16)
ALL = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
# No value is so large that its conversion to another dtype is undefined in C++.
PALETTE = (0.0, 1.0, 2.0, 3.0, 0.5, -1.0, -2.5, 7.0, 100.0, 0.001, -0.0, -64.0)
SPECIAL = (*PALETTE, float("nan"), float("inf"), -float("inf"))


def values(count: int, dtype: torch.dtype, seed: int, special: bool = False) -> Tensor:
    """``count`` numbers of a small set, with repeats, chosen by ``seed``."""
    floating = dtype.is_floating_point or dtype.is_complex
    palette = torch.tensor(SPECIAL if special and floating else PALETTE, dtype=torch.float64)
    palette = palette if floating or dtype in (torch.int64, torch.int32, torch.int16, torch.int8) else palette.abs()
    picks = torch.randint(len(palette), (2, count), generator=torch.Generator().manual_seed(seed))
    numbers = palette[picks[0]]
    return (torch.complex(numbers, palette[picks[1]]) if dtype.is_complex else numbers).to(dtype)


@st.composite
def shapes(draw: st.DrawFn, min_dims: int = 0, max_dims: int = 4, min_side: int = 0, max_side: int = 5) -> list[int]:
    side = st.one_of(st.integers(max(min_side, 1), max_side), st.integers(min_side, max_side))
    return draw(st.lists(side, min_size=min_dims, max_size=max_dims))


@st.composite
def broadcastable(draw: st.DrawFn, shape: Sequence[int]) -> list[int]:
    """Mostly a shape that broadcasts with ``shape``, sometimes one that may not."""
    if draw(st.integers(0, 9)) == 0:
        return draw(shapes())
    ones = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    kept = [1 if one else side for one, side in zip(ones, shape, strict=True)]
    return kept[draw(st.integers(0, len(kept))) :]


@st.composite
def tensors(
    draw: st.DrawFn,
    shape: Sequence[int] | st.SearchStrategy[list[int]] | None = None,
    dtypes: Sequence[torch.dtype] = ALL,
    overlapping: bool = True,
    special: bool = True,
) -> Tensor:
    """A CPU tensor with any order of dimensions, gaps, an offset, and (``overlapping``) expanded dimensions."""
    if shape is None:
        shape = shapes()
    sizes = list(draw(shape)) if isinstance(shape, st.SearchStrategy) else list(shape)
    dtype = draw(st.sampled_from(dtypes))
    strides, offset, step = [0] * len(sizes), 0, 1
    plain = draw(st.booleans())
    order = range(len(sizes))[::-1] if plain else draw(st.permutations(range(len(sizes))))
    for dim in order:
        kind = 0 if plain else draw(st.integers(0, 4 if overlapping else 3))
        if kind == 4:
            continue
        strides[dim] = step * (2 if kind == 3 else 1)
        step = strides[dim] * max(sizes[dim], 1)
    offset = 0 if plain else draw(st.integers(0, 3))
    base = values(offset + step + 1, dtype, draw(st.integers(0, 10**6)), special and draw(st.booleans()))
    return base.as_strided(sizes, strides, offset)


scalars = st.sampled_from([0, 1, -1, 2, 3, True, False, 0.5, -2.5, 0.0, float("inf"), float("nan"), 1 + 2j])


@pytest.fixture(scope="session")
def inputs() -> SimpleNamespace:
    """Strategies: ``tensors``, ``shapes``, ``broadcastable``, ``scalars``; tuples of dtypes: ``FLOATS``, ``INTEGERS``,
    ``ALL``; ``values(count, dtype, seed, special)``.
    """
    return SimpleNamespace(
        tensors=tensors,
        shapes=shapes,
        broadcastable=broadcastable,
        scalars=scalars,
        values=values,
        FLOATS=FLOATS,
        INTEGERS=INTEGERS,
        ALL=ALL,
    )


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, Tensor)]


@pytest.fixture(scope="session")
def same(same_as_cpu: Callable[..., Any]) -> Callable[..., None]:
    """``same(function, *arguments)``: as ``same_as_cpu``; beside it compares the type of what is raised, the storage
    offsets of the results, and which results and arguments share a storage. A function that raises leaves the sizes and
    strides of its arguments as they were on the device. The CPU may have resized an ``out`` by then: what that holds is
    undefined, and not compared.
    """

    def attempt(function: Callable[..., Any], copies: Any, resized: set[int]) -> Any:
        before = [(t.shape, t.stride(), t.storage_offset()) for t in _tensors(copies)]
        try:
            result = function(*copies)
        except Exception as error:
            if "not implemented for" in str(error) or "dtypes on CPU" in str(error):
                # A dtype that CPU's kernel lacks: the device may compute it (tests/parity/test_native_dtypes.py).
                reject()
            for number, (tensor, geometry) in enumerate(zip(_tensors(copies), before, strict=True)):
                if tensor.device.type == "cpu" and (tensor.shape, tensor.stride(), tensor.storage_offset()) != geometry:
                    tensor.data = tensor.detach().as_strided(*geometry)
                    resized.add(number)
                if number in resized:
                    tensor.detach().zero_()
            return type(error)
        found = _tensors((result, copies))
        # A storage of no bytes may or may not be new: no program can tell.
        owners = [t.untyped_storage()._cdata if t.untyped_storage().nbytes() else id(t) for t in found]
        return result, [t.storage_offset() for t in found], [owners.index(owner) for owner in owners]

    def compare(function: Callable[..., Any], *arguments: Any) -> None:
        resized: set[int] = set()  # filled by the run on the CPU, which is the first
        same_as_cpu(lambda *copies: attempt(function, copies, resized), *arguments)

    return compare
