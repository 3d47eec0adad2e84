"""int64 is exact here; values that the real device may narrow to int32 are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim import clear_op_tracking, op_report, record

pytestmark = pytest.mark.usefixtures("silent")

LIMIT = 2**31


def overflows() -> int:
    return op_report().int64_overflows


@pytest.mark.parametrize("value", [LIMIT, -LIMIT - 1, 2**62])
def test_values_beyond_32_bits_are_exact_and_counted(value: int) -> None:
    x = torch.tensor([value, 0, value], device="neuron")
    assert overflows() == 0  # copies are not arithmetic
    assert (x * 1).tolist() == [value, 0, value]
    assert overflows() == 2


@pytest.mark.parametrize("value", [LIMIT - 2, -LIMIT, 0])
def test_values_within_32_bits_are_not(value: int) -> None:
    x = torch.tensor([value], device="neuron")
    x + 1, x * 1, x.sum(), x.add_(0)
    assert overflows() == 0


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: x + 0, 1),  # typed
        (lambda x: x.add_(0), 1),
        (lambda x: torch.add(x, 0, out=torch.empty(0, dtype=torch.int64, device="neuron")), 1),
        (lambda x: torch.cat([x, x]), 2),
        (lambda x: torch.full((3,), LIMIT, device="neuron"), 3),
        (lambda x: torch._foreach_add([x, x], 0), 2),
        (lambda x: x.clone().fill_(LIMIT), 2),
        (lambda x: x.view(2, 1).expand(2, 3) + 0, 3),
    ],
)
def test_every_way_out_of_a_native_op_is_looked_at(function: Callable[[Tensor], Any], count: int) -> None:
    x = torch.tensor([LIMIT, 1], device="neuron")
    clear_op_tracking()
    function(x)
    assert overflows() == count


def test_fallbacks_and_other_dtypes_do_not_count() -> None:
    x = torch.tensor([LIMIT, 1], device="neuron")
    clear_op_tracking()
    torch.unique(x), x.cumprod(0), x.double().mul(4), x.float() * 4, x.cpu() + 1
    assert overflows() == 0


def test_count_is_in_the_report_and_cleared() -> None:
    x = torch.tensor([LIMIT], device="neuron")
    with record() as report:
        x + 0
        x * 1
    assert report.int64_overflows == 2
    assert "int64: 2 values beyond 32 bits" in str(report)
    assert report.to_dict()["int64_overflows"] == 2
    clear_op_tracking()
    assert overflows() == 0
    assert "int64" not in str(op_report())
