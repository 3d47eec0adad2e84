"""out= of every size, layout and dtype, and what in-place operators do to sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import torch_neuron_sim
from torch_neuron_sim import neuron

Compare = Callable[..., Any]

# One of each path: typed structured, typed composite, boxed structured, boxed unstructured, several results.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, out: torch.add(x, 1, out=out),
    "sum": lambda x, out: torch.sum(x, 1, out=out),
    "mm": lambda x, out: torch.mm(x, x.t(), out=out),
    "cat": lambda x, out: torch.cat([x, x], out=out),
    "stack": lambda x, out: torch.stack([x, x], out=out),
    "lgamma": lambda x, out: torch.lgamma(x, out=out),
    "argmax": lambda x, out: torch.argmax(x, 0, out=out),
    "nonzero": lambda x, out: torch.nonzero(x, out=out),
    "index_select": lambda x, out: torch.index_select(x, 0, torch.tensor([1, 1, 0], device=x.device), out=out),
    "inverse": lambda x, out: torch.linalg.inv(x @ x.t() + torch.eye(3, device=x.device), out=out),
    "eye": lambda x, out: torch.eye(4, 3, out=out),
    "arange": lambda x, out: torch.arange(7, out=out),
    "full": lambda x, out: torch.full((2, 2), 5, out=out),
    "randperm": lambda x, out: torch.randperm(9, out=out),
}
INTEGERS = {"argmax", "nonzero", "randperm"}


@pytest.fixture(autouse=True)
def _silent_resizes() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "An output with one or more elements was resized")
        yield


def outputs(dtype: torch.dtype) -> dict[str, Tensor]:
    return {
        "empty": torch.empty(0, dtype=dtype),
        "too small": torch.zeros(1, dtype=dtype),
        "too large": torch.zeros(40, 3, dtype=dtype),
        "a view inside a storage": torch.zeros(12, dtype=dtype)[3:5],
        "a transposed matrix": torch.zeros(4, 3, dtype=dtype).t(),
        "every other element": torch.zeros(3, 8, dtype=dtype)[:, ::2],
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_out_of_any_size_ends_as_on_cpu(same_as_cpu: Compare, name: str) -> None:
    x = torch.arange(12.0).reshape(3, 4) - 3
    for out in outputs(torch.int64 if name in INTEGERS else torch.float32).values():
        result = same_as_cpu(FUNCTIONS[name], x, out)
        assert result.device.type == "neuron"


TWO_RESULTS: dict[str, Callable[..., Any]] = {
    "sort": lambda x, out: torch.sort(x, out=out),
    "topk": lambda x, out: torch.topk(x, 2, out=out),
    "min": lambda x, out: torch.min(x, 1, out=out),
    "cummax": lambda x, out: torch.cummax(x, 1, out=out),
    "mode": lambda x, out: torch.mode(x, 1, out=out),
}


@pytest.mark.parametrize("name", TWO_RESULTS)
def test_two_outs_of_any_sizes_end_as_on_cpu(same_as_cpu: Compare, name: str) -> None:
    def run(x: Tensor, values: Tensor, indices: Tensor) -> list[Tensor]:
        found = TWO_RESULTS[name](x, (values, indices))
        assert (found[0].data_ptr(), found[1].data_ptr()) == (values.data_ptr(), indices.data_ptr())
        return [*found, values, indices]

    x = torch.tensor([[3.0, 1.0, 2.0, 2.0], [6.0, 5.0, 4.0, 5.0], [0.0, -1.0, -2.0, -1.0]])
    for values, indices in zip(outputs(torch.float32).values(), outputs(torch.int64).values(), strict=True):
        same_as_cpu(run, x, values, torch.empty(0, dtype=torch.int64))
        same_as_cpu(run, x, torch.empty(0), indices)


def test_strided_out_is_written_in_place_and_its_gaps_stay(same_as_cpu: Compare) -> None:
    def run(x: Tensor, wide: Tensor, tall: Tensor) -> list[Tensor]:
        torch.add(x, 1, out=wide[:, ::2])
        torch.sort(x, out=(tall.t()[:, 1:], torch.empty(2, 3, dtype=torch.int64, device=x.device)))
        return [wide, tall]

    same_as_cpu(run, torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]), torch.zeros(2, 6), torch.zeros(4, 2))


def test_resizing_warns_as_on_cpu() -> None:
    x = torch.ones(5, device="neuron")
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        warnings.simplefilter("always")
        torch.add(x, x, out=torch.ones(2, device="neuron"))


def test_growth_of_a_view_keeps_the_rest_of_the_storage_for_all_who_see_it(
    same_as_cpu: Compare, allocated: Callable[..., int]
) -> None:
    def grow(base: Tensor) -> list[Tensor]:
        view = base[2:4]
        torch.cat([base + 1, base + 1], out=view)
        return [base, view]

    base, view = same_as_cpu(grow, torch.arange(6.0))
    assert base.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
    assert base.untyped_storage().nbytes() == (2 + 12) * 4
    assert allocated() >= base.untyped_storage().nbytes()


def test_memory_of_the_smaller_out_is_given_back(allocated: Callable[..., int]) -> None:
    x = torch.ones(1 << 16, device="neuron")
    before = allocated()
    out = torch.ones(64, device="neuron")
    torch.mul(x, 2, out=out)
    assert allocated() - before == x.nbytes
    assert neuron.scratch_stats()["current"] == 0
    del out
    assert allocated() == before


def test_out_is_kept_in_the_same_memory_when_it_fits() -> None:
    out = torch.zeros(2, 3, device="neuron")
    pointer = out.data_ptr()
    torch.add(torch.ones(3, device="neuron"), 1, out=out[0])
    torch.ones(2, 3, out=out)
    assert out.data_ptr() == pointer


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda out: torch.add(torch.ones(3, device=out.device), 1, out=out), torch.int32),
        (lambda out: torch.mm(*[torch.ones(2, 2, device=out.device)] * 2, out=out), torch.int8),
        (lambda out: torch.argmax(torch.ones(3, device=out.device), out=out), torch.float32),
        (lambda out: torch.sort(torch.ones(3, device=out.device), out=(out, out.long())), torch.bool),
    ],
)
def test_wrong_dtype_of_out_raises_as_on_cpu(function: Callable[[Tensor], Any], dtype: torch.dtype) -> None:
    expected = torch.zeros(3, dtype=dtype)
    with pytest.raises((RuntimeError, TypeError)) as on_cpu:
        function(expected)
    out = torch.zeros(3, dtype=dtype, device="neuron")
    with pytest.raises(on_cpu.type) as on_neuron:
        function(out)
    assert str(on_neuron.value) == str(on_cpu.value)
    assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.complex64])
def test_out_of_another_dtype_that_can_hold_the_result(same_as_cpu: Compare, dtype: torch.dtype) -> None:
    with torch_neuron_sim.float64_policy("exact"):
        same_as_cpu(lambda x, out: torch.add(x, 1, out=out), torch.arange(3.0), torch.zeros(3, dtype=dtype))


@given(
    rows=st.integers(0, 5),
    columns=st.integers(1, 5),
    out_shape=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    offset=st.integers(0, 3),
)
def test_any_out_of_any_offset(
    same_as_cpu: Compare, rows: int, columns: int, out_shape: list[int], offset: int
) -> None:
    size = torch.Size(out_shape).numel()
    out = torch.zeros(offset + size + 2)[offset : offset + size].view(out_shape)
    x = torch.arange(float(rows * columns)).reshape(rows, columns)
    same_as_cpu(lambda x, out: [torch.add(x, 1, out=out), out.untyped_storage().nbytes()], x, out)
    same_as_cpu(lambda x, out: [torch.lgamma(x, out=out), out.untyped_storage().nbytes()], x, out)


def test_out_that_is_an_input(same_as_cpu: Compare) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    for view in (x, x[:, ::2], x.t()):
        same_as_cpu(lambda x: torch.add(x, x, out=x), view)
        same_as_cpu(lambda x: torch.cumsum(x, 0, out=x), view)
        same_as_cpu(lambda x: torch.sigmoid(x, out=x), view)
        same_as_cpu(lambda x: torch.tril(x, out=x), view)
        same_as_cpu(lambda x: torch.lgamma(x, out=x), view)


def test_out_on_another_device_is_refused() -> None:
    x = torch.ones(3, device="neuron")
    for out in (torch.zeros(3), torch.zeros(3, device="neuron:1"), torch.tensor(0.0)):
        with pytest.raises(RuntimeError, match=f"neuron:0.*{out.device}|{out.device}.*neuron:0"):
            torch.add(x, 1, out=out)
        with pytest.raises(RuntimeError, match=f"neuron:0.*{out.device}|{out.device}.*neuron:0"):
            torch.sum(x, 0, out=out)
        assert out.sum().item() == 0


def test_in_place_on_a_host_scalar_is_refused() -> None:
    scalar = torch.tensor(1.0)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        scalar.add_(torch.tensor(2.0, device="neuron"))
    assert scalar.item() == 1
