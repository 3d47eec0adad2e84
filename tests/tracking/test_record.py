"""record(): the report of a with block."""

from __future__ import annotations

from threading import Thread

import pytest
import torch

from torch_neuron_sim import OpReport, clear_op_tracking, get_fallback_ops, op_report, record

pytestmark = pytest.mark.usefixtures("silent")


def calls(report: OpReport) -> dict[str, int]:
    return {row.op: row.calls for row in report.rows}


def test_only_what_runs_within() -> None:
    x = torch.ones(3, device="neuron")
    x.floor(), x.relu()
    with record() as report:
        assert report.rows == []
        x.floor(), x.floor(), x.exp()
        assert report.rows == []
    x.floor(), x.argmax()
    assert calls(report) == {"aten::floor": 2, "aten::exp": 1}
    (row,) = (row for row in report.rows if row.route == "fallback")
    assert row.bytes == 2 * 24
    assert sum(site.calls for site in row.sites) == 2
    assert calls(op_report())["aten::floor"] == 4


def test_an_empty_block() -> None:
    torch.ones(3, device="neuron").floor()
    with record() as report:
        pass
    assert report.rows == []
    assert "nothing ran" in str(report)


def test_nesting() -> None:
    x = torch.ones(3, device="neuron")
    with record() as outer:
        x.floor()
        with record() as inner:
            x.floor(), x.exp()
        with record() as second:
            x.argmax()
        x.relu()
    assert calls(inner) == {"aten::floor": 1, "aten::exp": 1}
    assert calls(second) == {"aten::argmax": 1}
    assert calls(outer) == {"aten::floor": 2, "aten::exp": 1, "aten::argmax": 1, "aten::relu": 1}


def test_clearing_within_a_block_forgets_nothing_of_the_block() -> None:
    x = torch.ones(3, device="neuron")
    x.floor()
    with record() as outer:
        x.floor(), torch.tensor([2**40], device="neuron").add(1)
        with record() as inner:
            x.floor()
            clear_op_tracking()
            x.floor(), x.exp()
        clear_op_tracking()
    assert get_fallback_ops() == []
    assert calls(inner) == {"aten::floor": 2, "aten::exp": 1}
    assert calls(outer)["aten::floor"] == 3
    assert outer.int64_overflows == 1
    (row,) = (row for row in outer.rows if row.op == "aten::floor")
    assert sum(site.calls for site in row.sites) == 3
    assert row.bytes == 3 * 24


def test_an_exception_ends_the_block_as_usual() -> None:
    with pytest.raises(ZeroDivisionError), record() as report:
        torch.ones(3, device="neuron").floor()
        raise ZeroDivisionError
    assert calls(report)["aten::floor"] == 1
    with record() as later:
        pass
    assert later.rows == []


def test_blocks_that_overlap_without_nesting() -> None:
    x = torch.ones(3, device="neuron")
    first, second = record(), record()
    one = first.__enter__()
    x.floor()
    two = second.__enter__()
    x.exp()
    first.__exit__(None, None, None)
    x.relu()
    second.__exit__(None, None, None)
    assert list(calls(one)) == ["aten::floor", "aten::exp"]
    assert list(calls(two)) == ["aten::exp", "aten::relu"]


def test_all_threads_and_backward_are_seen() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    with record() as report:
        worker = Thread(target=lambda: torch.ones(3, device="neuron:1").floor())
        worker.start()
        worker.join()
        torch.nn.functional.elu(x).sum().backward()
    assert {"aten::floor", "aten::elu_backward"} <= calls(report).keys()


def test_as_a_decorator() -> None:
    @record()
    def step() -> None:
        torch.ones(3, device="neuron").floor()

    step()
    assert get_fallback_ops() == ["aten::floor.out"]
