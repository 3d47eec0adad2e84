"""One warning when an operator compiles again and again because one size varies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import _C, RecompileWarning, recompile_limit


@pytest.fixture(autouse=True)
def _low_limit() -> Iterator[None]:
    _C.clear_compile_cache()
    recompile_limit(4)
    yield
    recompile_limit(32)
    _C.clear_compile_cache()


def run(sizes: range) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in sizes:
            torch.relu(torch.zeros(2, size).to("neuron"))
    return [each for each in caught if each.category is RecompileWarning]


def test_warns_once_and_names_the_size_that_varies() -> None:
    assert run(range(1, 5)) == []
    (warning,) = run(range(5, 9))
    assert str(warning.message).startswith(
        "aten::relu compiles again and again: dimension 1 of input 0 has taken more than 4 values (1, 2, 3, 4, ...)."
    )
    assert warning.filename == __file__
    assert run(range(9, 12)) == []


def test_warns_again_when_tracking_is_cleared() -> None:
    assert len(run(range(1, 9))) == 1
    torch_neuron_sim.clear_op_tracking()
    assert len(run(range(9, 12))) == 1


def test_names_an_integer_argument() -> None:
    x = torch.zeros(2, 3).to("neuron")
    with pytest.warns(RecompileWarning, match="its integer argument 0 has taken more than 4 values"):
        for count in range(1, 9):
            x.repeat(count, 1)


def test_many_programs_without_a_varying_size_are_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8):
            for rows in (1, 2, 3, 4):
                torch.abs(torch.zeros(rows, 1, dtype=dtype).to("neuron"))


def test_a_warning_that_is_an_error_stops_the_operator_before_it_runs() -> None:
    made = [torch.zeros(size).to("neuron") for size in range(1, 6)]
    for tensor in made[:4]:
        tensor.add_(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RecompileWarning):
            made[4].add_(1)
    assert made[4].sum().item() == 0
    assert made[3].sum().item() == 4


def test_zero_is_no_limit_and_a_negative_one_is_refused() -> None:
    recompile_limit(0)
    assert run(range(1, 20)) == []
    with pytest.raises(ValueError, match="-1 is not a legal number of sizes"):
        recompile_limit(-1)
