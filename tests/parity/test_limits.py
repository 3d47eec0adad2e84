"""What docs/fidelity.md says under "Limits of single operators" is so: refusals give the type of error it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

FIDELITY = Path(__file__).parents[2] / "docs" / "fidelity.md"


def ones(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(sizes, dtype=dtype, device="neuron")


def indices(dtype: torch.dtype, *values: int) -> Tensor:
    return torch.tensor(values or (0, 1), device="neuron").to(dtype)


REFUSED: dict[str, tuple[type[Exception], list[Callable[[], object]]]] = {
    "_local_scalar_dense": (RuntimeError, [lambda: ones(2).item()]),
    "index.Tensor": (IndexError, [lambda: ones(2)[indices(torch.float32)], lambda: ones(2)[indices(torch.int64, 7)]]),
    "_index_put_impl_": (IndexError, [lambda: ones(2).index_put_((indices(torch.float32),), ones(2))]),
    "index_select": (
        RuntimeError,
        [
            lambda: ones(2).index_select(0, indices(torch.int16)),
            lambda: ones(2).index_select(0, indices(torch.float32)),
        ],
    ),
    "index_copy": (
        RuntimeError,
        [
            lambda: ones(2).index_copy(0, indices(torch.int32), ones(2)),
            lambda: ones(2).index_copy(0, indices(torch.float32), ones(2)),
        ],
    ),
    "index_copy_": (RuntimeError, [lambda: ones(2).index_copy_(0, indices(torch.int16), ones(2))]),
    "embedding_dense_backward": (
        RuntimeError,
        [lambda: torch.ops.aten.embedding_dense_backward(ones(2, 3), indices(torch.int16), 4, -1, False)],
    ),
    "one_hot": (RuntimeError, [lambda: torch.nn.functional.one_hot(indices(torch.int32))]),
    "amax": (RuntimeError, [lambda: torch.amax(ones(2, 3), 0, out=ones(3, dtype=torch.float16))]),
    "amin": (RuntimeError, [lambda: torch.amin(ones(2, 3), 0, out=ones(3, dtype=torch.float16))]),
    "histc": (RuntimeError, [lambda: torch.histc(ones(2), 4, out=ones(4, dtype=torch.float16))]),
    "nonzero": (RuntimeError, [lambda: torch.nonzero(ones(2), out=ones(0, dtype=torch.int32))]),
    "nonzero_static": (
        RuntimeError,
        [lambda: torch.nonzero_static(ones(2), size=2, out=ones(2, 1, dtype=torch.int32))],
    ),
}


def _documented() -> dict[str, str]:
    """Operators of the table of refusals, with what the table says of them."""
    section = FIDELITY.read_text().split("### Limits of single operators", 1)[1].split("\nThese limits", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {name: here for operators, _, here in rows for name in re.findall(r"`([^`]+)`", operators)}


def test_the_table_lists_what_is_tested_here() -> None:
    documented = _documented()
    refused = {name: here for name, here in documented.items() if "Error" in here}
    assert list(refused) == list(REFUSED)
    assert [name for name, here in refused.items() if REFUSED[name][0].__name__ not in here] == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused_arguments_raise(name: str) -> None:
    error, calls = REFUSED[name]
    for call in calls:
        with pytest.raises(error):
            call()


def test_index_out_of_bounds_of_index_select() -> None:
    with pytest.raises(IndexError):
        ones(2).index_select(0, indices(torch.int64, 7))


def test_what_pytorch_does_anyway() -> None:
    bytes_ = torch.tensor([0, 200], dtype=torch.uint8, device="neuron")
    assert bytes_.abs().tolist() == [0, 200]
    assert bytes_.any().dtype == torch.uint8
    assert torch.isfinite(bytes_).tolist() == [True, True]
    assert torch.isinf(bytes_).tolist() == [False, False]
    torch.manual_seed(0)
    expected = torch.native_dropout(torch.ones(64), 0.5, True)[1]
    torch.manual_seed(0)
    assert torch.equal(torch.native_dropout(ones(64), 0.5, True)[1].cpu(), expected)


def test_shifts_keep_64_bits() -> None:
    one = torch.tensor([1], device="neuron")
    assert torch.bitwise_left_shift(one, 40).item() == 1 << 40
