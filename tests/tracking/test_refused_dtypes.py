"""Dtypes that the hardware has no arithmetic for: recorded as fallback, with the reason."""

from __future__ import annotations

import pytest
import torch

from torch_neuron_sim import FallbackWarning, fallback_policy, get_executed_ops, get_fallback_ops, op_report

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.complex64, "ComplexFloat"),
        (torch.complex128, "ComplexDouble"),
        (torch.uint16, "UInt16"),
        (torch.uint32, "UInt32"),
        (torch.uint64, "UInt64"),
    ],
    ids=str,
)
def test_native_op_falls_back_and_says_why(dtype: torch.dtype, name: str) -> None:
    x = torch.tensor([3, 1]).to(dtype).to("neuron")
    found = x.eq(x)
    assert found.tolist() == [True, True]
    (row,) = (row for row in op_report().rows if row.route == "fallback")
    assert (row.op, row.reason, row.calls) == ("aten::eq.Tensor", f"its kernel does not take {name}", 1)
    assert row.bytes == 2 * x.nbytes + found.nbytes
    assert get_fallback_ops() == [row.recorded_as]
    assert "aten::eq.Tensor" not in get_executed_ops()


def test_the_same_op_on_other_dtypes_stays_native() -> None:
    z, x = torch.ones(2, dtype=torch.complex64, device="neuron"), torch.ones(2, device="neuron")
    z + z, x + x
    routes = {row.route: row.calls for row in op_report().rows if row.op == "aten::add.Tensor"}
    assert routes == {"fallback": 1, "native": 1}


def test_one_refused_argument_is_enough() -> None:
    z, x = torch.ones(2, dtype=torch.complex64, device="neuron"), torch.ones(2, device="neuron")
    assert (x * z).tolist() == [1, 1]
    assert get_fallback_ops() == ["aten::mul.Tensor"]


def test_complex_from_real_arguments() -> None:
    x = torch.arange(4.0, device="neuron")
    z = torch.complex(x, x)
    assert torch.equal((z * 1j).cpu(), torch.complex(torch.arange(4.0), torch.arange(4.0)) * 1j)


def test_complex_copies_and_views_are_no_fallbacks() -> None:
    z = torch.randn(3, 2, dtype=torch.complex64)
    there = z.to("neuron")
    there.clone(), there.cpu(), there.t(), there.conj(), there.real, torch.view_as_real(there), there.view(6)
    assert torch.equal(there.to("neuron:1").cpu(), z)
    assert get_fallback_ops() == []


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz], ids=str)
def test_refused_kinds_of_float8(dtype: torch.dtype) -> None:
    x = torch.ones(2, device="neuron").to(dtype)
    x.fill_(2)
    row = op_report().rows[-1]
    assert row.route == "fallback"
    assert row.reason.startswith("its kernel does not take Float8_")


def test_float8_e5m2_is_native() -> None:
    x = torch.ones(2, device="neuron").to(torch.float8_e5m2)
    x.fill_(2)
    assert get_fallback_ops() == []
    assert x.float().tolist() == [2, 2]


def test_warning_gives_the_reason() -> None:
    z = torch.ones(2, dtype=torch.complex64, device="neuron")
    with fallback_policy("warn"), pytest.warns(FallbackWarning) as caught:
        z.exp()
    assert str(caught[0].message).startswith("aten::exp fell back to CPU: its kernel does not take ComplexFloat.")
