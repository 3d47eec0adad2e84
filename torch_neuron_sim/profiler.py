"""Gives the rows of ``torch.profiler.profile`` the times of the device.

The device's times come from marks that PyTorch's profiler has it make before and after each operator. PyTorch makes
them for ``torch.autograd.profiler.profile(use_device="neuron")``; of ``torch.profiler.profile`` it expects a tracer of
the backend's own.
"""

import functools
from typing import Any

from torch._C._profiler import ProfilerActivity, ProfilerState
from torch.autograd import profiler

_original = profiler.profile.__init__


@functools.wraps(_original)
def _init(self: Any, *arguments: Any, **named: Any) -> None:
    _original(self, *arguments, **named)
    if self.use_device == "neuron" and self.profiler_kind == ProfilerState.KINETO_PRIVATEUSE1:
        self.profiler_kind = ProfilerState.KINETO_PRIVATEUSE1_FALLBACK
        self.kineto_activities = {ProfilerActivity.CPU}  # the marks go with the rows of the host


def install() -> None:
    """Makes profiles of neuron use the marks."""
    profiler.profile.__init__ = _init  # type: ignore[method-assign]
