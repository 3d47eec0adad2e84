"""Gives the rows of ``torch.profiler.profile`` the times of the device.

The device's times come from marks that PyTorch's profiler has it make before and after each operator. PyTorch makes
them for ``torch.autograd.profiler.profile(use_device="neuron")``; of ``torch.profiler.profile`` it expects a tracer of
the backend's own.
"""

import functools
from typing import Any

from torch._C._profiler import ProfilerActivity, ProfilerState
from torch.autograd import profiler, profiler_util

_initialise = profiler.profile.__init__
_remove_duplicates = profiler_util.EventList._remove_dup_nodes


@functools.wraps(_initialise)
def _use_marks(self: Any, *arguments: Any, **named: Any) -> None:
    _initialise(self, *arguments, **named)
    if self.use_device == "neuron" and self.profiler_kind == ProfilerState.KINETO_PRIVATEUSE1:
        self.profiler_kind = ProfilerState.KINETO_PRIVATEUSE1_FALLBACK
        self.kineto_activities = {ProfilerActivity.CPU}  # the marks go with the rows of the host


@functools.wraps(_remove_duplicates)
def _keep_times(self: Any) -> None:
    """An operator that calls one of its own name is one row, with the inner one's times; the device has the outer's."""
    for event in self:
        outer = event.cpu_parent
        if outer is not None and outer.name == event.name and len(outer.cpu_children) == 1 and not event.kernels:
            event.kernels = outer.kernels
    _remove_duplicates(self)  # type: ignore[no-untyped-call]


def install() -> None:
    """Makes profiles of neuron use the marks."""
    profiler.profile.__init__ = _use_marks  # type: ignore[method-assign]
    profiler_util.EventList._remove_dup_nodes = _keep_times  # type: ignore[method-assign]
