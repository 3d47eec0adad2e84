"""Warnings: which class, when, at which line, and what happens when a filter turns one into an error."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from inspect import currentframe
from pathlib import Path
from typing import Any

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import FallbackWarning, Float64Warning, UnsupportedWarning, clear_op_tracking

RunPython = Callable[..., Any]


@pytest.fixture(autouse=True)
def caught() -> Iterator[list[warnings.WarningMessage]]:
    """What was warned about in the test."""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        yield messages


def line_above() -> int:
    """The line before the one that calls this."""
    frame = currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno - 1


def test_three_classes_of_warnings(caught: list[warnings.WarningMessage]) -> None:
    for kind in (FallbackWarning, UnsupportedWarning, Float64Warning):
        assert issubclass(kind, UserWarning)
        assert not any(
            issubclass(kind, other)
            for other in (FallbackWarning, UnsupportedWarning, Float64Warning)
            if other is not kind
        )


def test_fallback_warns_once_at_the_line_of_the_user(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron")
    x.floor()
    line = line_above()
    x.floor()
    x.floor_()  # another overload, recorded under another name of the dispatcher
    first = caught[0]
    assert first.category is FallbackWarning
    assert (first.filename, first.lineno) == (__file__, line)
    assert re.match(r"aten::floor\.out fell back to CPU: no native kernel\.", str(first.message))
    assert "fallback_policy('silent')" in str(first.message)
    assert "get_fallback_ops()" in str(first.message)


def test_each_op_warns_for_itself(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron")
    for _ in range(3):
        x.floor(), x.argmax(), x.unique()
    assert [str(message.message).split()[0] for message in caught] == [
        "aten::floor.out",
        "aten::argmax.out",
        "aten::_unique2",
    ]


def test_native_ops_and_copies_do_not_warn(caught: list[warnings.WarningMessage]) -> None:
    x = torch.arange(6.0, device="neuron").view(2, 3)
    (x @ x.t()).softmax(-1).cpu(), x.clone(), x.sum().item(), str(x)
    assert caught == []


def test_clearing_lets_ops_warn_again(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron")
    x.floor()
    clear_op_tracking()
    x.floor()
    assert len(caught) == 2


def test_line_is_that_of_the_innermost_frame_outside_torch(caught: list[warnings.WarningMessage]) -> None:
    model = torch.nn.Sequential(torch.nn.Hardtanh(), torch.nn.ReLU())
    x = torch.ones(3, device="neuron")
    model(x)
    line = line_above()
    assert [(message.filename, message.lineno) for message in caught] == [(__file__, line)]


def test_line_within_a_file_of_the_user_that_another_calls(
    caught: list[warnings.WarningMessage], tmp_path: Path
) -> None:
    path = tmp_path / "library.py"
    path.write_text("def use(x):\n\n    return x.floor()\n", encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    scope["use"](torch.ones(3, device="neuron"))
    assert [(message.filename, message.lineno) for message in caught] == [(str(path), 3)]


def test_line_of_a_fallback_in_functions_of_torch(caught: list[warnings.WarningMessage]) -> None:
    torch.nn.init.xavier_normal_(torch.empty(3, 3, device="neuron"))
    line = line_above()
    assert [(message.filename, message.lineno) for message in caught] == [(__file__, line)]


def test_backward_names_the_node_of_autograd(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    y = torch.nn.functional.elu(x).sum()
    caught.clear()
    y.backward()
    (message,) = caught
    assert str(message.message).startswith("aten::elu_backward.grad_input fell back to CPU in EluBackward0: ")
    assert message.filename == "<EluBackward0>"


def test_python_code_in_backward_has_a_line(caught: list[warnings.WarningMessage]) -> None:
    lines: list[int] = []

    class Floor(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            lines.append(line_above() + 2)
            return gradient.floor()

    Floor.apply(torch.ones(3, device="neuron", requires_grad=True)).sum().backward()
    assert [(message.filename, message.lineno) for message in caught] == [(__file__, lines[0])]


def test_an_error_filter_raises_before_anything_changed_and_raises_again(caught: list[warnings.WarningMessage]) -> None:
    x = torch.full((3,), 1.5, device="neuron")
    out = torch.zeros(1, device="neuron")
    state = torch.get_rng_state()
    warnings.simplefilter("error")
    for _ in range(2):
        with pytest.raises(FallbackWarning, match=r"aten::floor\.out fell back"):
            x.floor_()
        with pytest.raises(FallbackWarning, match=r"aten::argmax\.out"):
            torch.argmax(x, out=out.long())
        with pytest.raises(FallbackWarning, match=r"aten::normal_"):
            x.normal_()
    assert x.tolist() == [1.5] * 3
    assert out.tolist() == [0]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch_neuron_sim.get_fallback_ops() == []
    warnings.simplefilter("always")
    assert x.floor_().tolist() == [1] * 3
    assert len(caught) == 1


def test_an_error_filter_raises_out_of_backward(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    y = torch.nn.functional.elu(x).sum()
    warnings.simplefilter("error")
    with pytest.raises(FallbackWarning, match="EluBackward0"):
        y.backward()
    assert x.grad is None


def test_filters_by_class_message_and_module(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron")
    warnings.filterwarnings("ignore", category=FallbackWarning)
    x.floor()
    clear_op_tracking()
    warnings.resetwarnings()
    warnings.filterwarnings("ignore", message=r"aten::floor\.out fell back")
    x.floor()
    clear_op_tracking()
    warnings.resetwarnings()
    warnings.filterwarnings("ignore", module=re.escape(__name__))
    x.floor()
    assert caught == []
    warnings.simplefilter("always")
    x.argmax()
    assert len(caught) == 1


def test_float64_warning(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron", dtype=torch.float64)
    x + x
    line = line_above()
    x + x
    (message,) = caught
    assert message.category is Float64Warning
    assert (message.filename, message.lineno) == (__file__, line)
    assert str(message.message).startswith("aten::add.Tensor computes float64 as float32: ")


def test_unsupported_op_runs_with_its_own_warning(caught: list[warnings.WarningMessage]) -> None:
    # No kernel on the device and none on CPU, so TorchNeuron raises.
    gates, state = torch.randn(2, 12, device="neuron"), torch.randn(2, 4, device="neuron")
    caught.clear()
    torch.ops.aten._thnn_fused_gru_cell(gates, gates, state)
    line = line_above()
    (message,) = caught
    assert message.category is UnsupportedWarning
    assert (message.filename, message.lineno) == (__file__, line)
    assert str(message.message).startswith("aten::_thnn_fused_gru_cell is not supported by TorchNeuron")
    assert [row.route for row in torch_neuron_sim.op_report().rows][-1] == "unsupported"
    assert torch_neuron_sim.get_fallback_ops() == ["aten::normal_"]


def test_silent_policies_do_not_warn(caught: list[warnings.WarningMessage]) -> None:
    x = torch.ones(3, device="neuron", dtype=torch.float64)
    with torch_neuron_sim.fallback_policy("silent"), torch_neuron_sim.float64_policy("silent"):
        x.floor(), x.relu()
    assert caught == []
    assert torch_neuron_sim.get_fallback_ops() == ["aten::floor.out"]
    x.floor()  # not yet warned about
    assert len(caught) == 1


def test_in_a_plain_script(run_python: RunPython, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, torch_neuron_sim\n"
        "x = torch.ones(3, device='neuron')\n"
        "for _ in range(5):\n"
        "    y = x.floor()\n"
        "    z = x.floor()\n",
        encoding="utf-8",
    )
    run = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    done = run_python(run)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("FallbackWarning") == 1
    assert f"{script}:4: FallbackWarning: aten::floor.out fell back to CPU" in done.stderr
