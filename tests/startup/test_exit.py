"""Programs end as they should, whatever they leave behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def test_exit_right_after_backward_does_not_abort(fresh_python: RunPython) -> None:
    """The device's backward thread lets go of the graph while the interpreter ends, and has to get the GIL for that:
    with a long switch interval it comes too late every second time, unless the interpreter waits for it.
    """
    code = """
import sys, torch, torch_neuron_sim
sys.setswitchinterval(0.2)
x = torch.ones(2, device="neuron", requires_grad=True)
x.register_hook(lambda gradient: gradient)
(x * 2).sum().backward()
del x
sys.exit()
"""
    ended = [fresh_python(code) for _ in range(8)]
    assert [(each.returncode, each.stderr) for each in ended] == [(0, "")] * 8


@pytest.mark.parametrize(
    "left_behind",
    [
        "x = torch.ones(3, device='neuron')",
        "import builtins; builtins.kept = [torch.ones(3, device='neuron') for _ in range(9)]",
        "x = torch.ones(3, device='neuron', requires_grad=True); (x * 2).sum().backward()",
        "import threading; threading.Thread(target=lambda: torch.ones(3, device='neuron').sum()).start()",
        "s = torch.neuron.Stream(); s.__enter__(); e = s.record_event()",
        "p = torch.ones(3).pin_memory(); g = torch.Generator(device='neuron')",
        "x = torch.empty(3 << 30, device='neuron')",
    ],
)
def test_exit_with_live_objects_is_clean(fresh_python: RunPython, left_behind: str) -> None:
    done = fresh_python(f"import sys, torch, torch_neuron_sim\n{left_behind}\nsys.exit()")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_uncaught_error_on_the_device_ends_with_its_traceback(start_python: RunPython) -> None:
    code = "import torch, torch_neuron_sim\ntorch.ones(2, device='neuron') @ torch.ones(3, device='neuron')"
    done = start_python(code)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "RuntimeError" in done.stderr
