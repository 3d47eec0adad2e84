"""What the report counts: calls, bytes that a real device would move, and the lines they came from."""

from __future__ import annotations

from collections.abc import Callable
from inspect import currentframe
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim import clear_op_tracking, op_report
from torch_neuron_sim.report import OpRow

pytestmark = pytest.mark.usefixtures("silent")


def row(op: str, route: str = "fallback") -> OpRow:
    (found,) = (row for row in op_report().rows if (row.op, row.route) == (op, route))
    return found


def test_calls_are_counted_for_each_op_and_route() -> None:
    x = torch.ones(4, device="neuron")
    clear_op_tracking()
    for _ in range(7):
        x.relu()
    for _ in range(3):
        x.floor()
    assert (row("aten::relu", "native").calls, row("aten::floor").calls) == (7, 3)
    assert row("aten::floor").recorded_as == "aten::floor.out"
    assert (row("aten::relu", "native").reason, row("aten::floor").reason) == ("", "no native kernel")


@pytest.mark.parametrize(
    ("function", "op", "expected"),
    [
        (lambda x: x.floor(), "aten::floor", 400 + 400),
        (lambda x: x.argmax(), "aten::argmax", 400 + 8),
        (lambda x: x.floor_(), "aten::floor_", 400 + 400),
        (lambda x: torch.floor(x, out=torch.empty(100, device="neuron")), "aten::floor.out", 400 + 400 + 400),
        (lambda x: torch.atan2(x, x), "aten::atan2", 800 + 400),
        (lambda x: x[::2].floor(), "aten::floor", 200 + 200),
        (lambda x: x.sort(), "aten::sort", 400 + 400 + 800),
        (lambda x: torch.randn(50, device="neuron"), "aten::normal_", 200 + 200),
        (lambda x: torch.randperm(50, device="neuron"), "aten::randperm", 400 + 400),
    ],
)
def test_bytes_are_what_goes_to_the_host_and_back(function: Callable[[Tensor], Any], op: str, expected: int) -> None:
    x = torch.ones(100, device="neuron")
    clear_op_tracking()
    function(x)
    rows = [row for row in op_report().rows if row.route == "fallback"]
    assert len(rows) == 1
    assert rows[0].op.startswith(op)
    assert rows[0].bytes == expected


def test_bytes_of_native_ops_are_what_they_read_and_write_on_the_device() -> None:
    x = torch.ones(100, device="neuron")
    clear_op_tracking()
    x + x, x.cpu(), x.t()
    assert {row.op: row.bytes for row in op_report().rows} == {"aten::add.Tensor": 1200, "aten::copy_": 400}


def test_sites_are_lines_with_their_calls() -> None:
    x = torch.ones(2, device="neuron")
    frame = currentframe()
    assert frame is not None
    first = frame.f_lineno + 2
    for _ in range(4):
        x.floor()
    x.floor()
    sites = row("aten::floor").sites
    assert [(site.filename, site.line, site.calls) for site in sites] == [
        (__file__, first, 4),
        (__file__, first + 1, 1),
    ]
    assert {site.function for site in sites} == {"test_sites_are_lines_with_their_calls"}
    assert str(sites[0]) == f"{__file__}:{first} in test_sites_are_lines_with_their_calls"


def test_a_few_sites_are_kept_and_the_rest_counted() -> None:
    x = torch.ones(2, device="neuron")
    code = "\n".join(["x.floor()"] * 50)
    for _ in range(2):
        exec(compile(code, "many lines", "exec"), {"x": x})
    found = row("aten::floor")
    assert found.calls == 100
    assert 2 <= len(found.sites) < 50
    assert [site.line for site in found.sites] == list(range(1, len(found.sites) + 1))
    assert {site.calls for site in found.sites} == {2}
    assert found.sites_dropped == 100 - 2 * len(found.sites)


def test_site_in_backward_is_the_node() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    torch.nn.functional.elu(x).sum().backward()
    (site,) = row("aten::elu_backward").sites
    assert (site.filename, site.line, site.function) == ("", 0, "EluBackward0")
    assert str(site) == "EluBackward0"


def test_native_rows_have_no_sites() -> None:
    torch.ones(3, device="neuron").relu()
    assert row("aten::relu", "native").sites == ()


def test_a_row_for_each_reason() -> None:
    for dtype in (torch.complex64, torch.uint16):
        x = torch.ones(2).to(dtype).to("neuron")
        x.eq(x)
    rows = [row for row in op_report().rows if row.op == "aten::eq.Tensor"]
    assert len({row.reason for row in rows}) == len(rows) == 2


def test_order_of_first_use() -> None:
    x = torch.ones(2, device="neuron")
    clear_op_tracking()
    x.relu(), x.floor(), x.exp(), x.floor(), x.argmax(), x.relu()
    rows = op_report().rows
    assert [row.op for row in rows] == ["aten::relu", "aten::floor", "aten::exp", "aten::argmax"]
    assert [row.first_use for row in rows] == sorted({row.first_use for row in rows})


def test_size_does_not_grow_with_calls() -> None:
    x = torch.ones(2, device="neuron")
    for _ in range(2000):
        x.floor(), x.relu()
    assert len(op_report().rows) == 3  # with ones
    assert len(row("aten::floor").sites) == 1


def test_failed_calls_are_not_counted() -> None:
    x = torch.ones(2, device="neuron")
    clear_op_tracking()
    for function in (
        lambda: x.argmax(5),
        lambda: torch.atan2(x, torch.ones(3, device="neuron")),
        lambda: x.exp().add(torch.ones(3, device="neuron")),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            function()
    counts = {row.op: row.calls for row in op_report().rows}
    assert counts == {"aten::ones": 2, "aten::exp": 1}
