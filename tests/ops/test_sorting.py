"""Order: sort, topk, median, unique, searchsorted, extrema, histograms, scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Compare = Callable[..., Any]

FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "sort": lambda x: [*x.sort(0), *x.sort(-1, descending=True)],
    "stable sort": lambda x: [*torch.sort(x, stable=True, dim=1), torch.argsort(x, stable=True)],
    "msort and argsort": lambda x: [x.msort(), x.argsort(0)],
    "topk": lambda x: [*x.topk(2), *x.topk(1, 0, largest=False), *x.topk(3, sorted=True)],
    "kthvalue": lambda x: x.kthvalue(2),
    "median": lambda x: [x.median(), *x.median(0), x.nanmedian()],
    "mode": lambda x: x.mode(0),
    "max and min": lambda x: [x.max(), *x.max(0), x.min(), *x.min(1, keepdim=True), x.amax(0), x.amin((0, 1))],
    "argmax and argmin": lambda x: [x.argmax(), x.argmax(0), x.argmin(1, keepdim=True)],
    "aminmax": lambda x: [*torch.aminmax(x), *torch.aminmax(x, dim=0)],
    "maximum and minimum": lambda x: [torch.maximum(x, x.flip(0)), torch.minimum(x, x.flip(0)), x.clamp(-1, 1)],
    "cummax and cummin": lambda x: [*x.cummax(0), *x.cummin(1)],
    "cumulative sums": lambda x: [x.cumsum(0), x.cumsum(-1), x.diff(dim=0)],
}
FLOATS: dict[str, Callable[[Tensor], Any]] = {
    "quantiles": lambda x: [
        x.quantile(0.3),
        x.quantile(torch.tensor([0.1, 0.9], device=x.device), 0),
        x.nanquantile(0.5),
    ],
    "cumulative products": lambda x: [x.cumprod(0), x.logcumsumexp(1), torch.trapezoid(x)],
    "fmax and fmin": lambda x: [torch.fmax(x, x.flip(0)), torch.fmin(x, x.flip(1))],
    "renorm": lambda x: x.renorm(2, 0, 1.0),
}
WITHOUT_GRADIENT: dict[str, Callable[[Tensor], Any]] = {
    "unique": lambda x: [x.unique(), *x.unique(return_inverse=True, return_counts=True), x.unique(dim=0)],
    "unique_consecutive": lambda x: torch.unique_consecutive(x.round(), return_inverse=True, return_counts=True),
    "searchsorted": lambda x: torch.searchsorted(x.sort()[0], x, right=True),
    "histc": lambda x: [torch.histc(x, 5), *torch.histogram(x, 4)],
    "isin": lambda x: torch.isin(x, x[0]),
    "comparisons": lambda x: [x > x.flip(0), x == x, torch.equal(x, x.clone()), torch.isclose(x, x + 1e-9), x.ne(0)],
    "truth": lambda x: [x.any(), x.all(0), (x > 0).any(1, keepdim=True), x.logical_not(), x.isnan(), x.isinf()],
}


def values(dtype: torch.dtype = torch.float32) -> Tensor:
    # With ties, negative numbers and both zeros.
    return torch.tensor([[3, -1, 2, -0.0], [0.0, 2, -1, 5], [2, 2, 7, -4], [3, 0, -1, 2]]).to(dtype)


@pytest.mark.parametrize("name", [*FUNCTIONS, *FLOATS])
def test_values_and_gradients(same_as_cpu: Compare, name: str) -> None:
    function = {**FUNCTIONS, **FLOATS}[name]
    same_as_cpu(function, values().requires_grad_())
    same_as_cpu(function, values().t().requires_grad_())
    same_as_cpu(function, torch.tensor([[1.0, float("nan"), 3.0], [float("inf"), 0.0, float("nan")], [1, 2, 3]]))


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_values(same_as_cpu: Compare, name: str) -> None:
    same_as_cpu(WITHOUT_GRADIENT[name], values())
    same_as_cpu(WITHOUT_GRADIENT[name], torch.randn(30, 5, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes(same_as_cpu: Compare, name: str, dtype: torch.dtype) -> None:
    same_as_cpu(FUNCTIONS[name], values(dtype))


@given(
    rows=st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=5),
    descending=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.int16, torch.uint8]),
)
def test_any_sort_and_unique(same_as_cpu: Compare, rows: list[list[int]], descending: bool, dtype: torch.dtype) -> None:
    x = torch.tensor(rows, dtype=torch.int64).reshape(len(rows), 4).to(dtype)
    same_as_cpu(lambda x: torch.sort(x, dim=0, descending=descending, stable=True), x)
    same_as_cpu(lambda x: torch.unique(x, sorted=True, return_inverse=True, return_counts=True), x)
    same_as_cpu(lambda x: torch.unique(x, dim=1, return_counts=True), x)
    same_as_cpu(lambda x: [x.bincount(minlength=3)] if dtype == torch.uint8 else [x.sum()], x.flatten())


def test_large_sorts_take_the_threaded_paths_of_cpu(same_as_cpu: Compare) -> None:
    x = torch.randint(0, 1000, (200_000,), generator=torch.Generator().manual_seed(0))
    same_as_cpu(lambda x: x.sort(stable=True), x)
    same_as_cpu(lambda x: [x.float().sort(stable=True)[0], x.unique(), x.bincount(), *x.float().topk(10)], x)
