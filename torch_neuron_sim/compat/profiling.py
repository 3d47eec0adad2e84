"""``torch_neuronx.profiling``: TorchNeuron's profiler, as far as PyTorch's own profiler provides it."""

from collections.abc import Iterable
from os import PathLike, fspath
from types import TracebackType
from typing import Any

import torch.profiler


class NeuronProfiler:
    """Profiles a ``with`` block, or what runs between ``start()`` and ``stop()``, by torch.profiler.

    ``pytorch_activities`` (default: those that this PyTorch supports) and ``record_shapes`` go to torch.profiler;
    ``pytorch_trace_file`` gets the Chrome trace at the end. There are no hardware traces here: ``neuron_output_dir``
    stays without files and ``event_filters`` filters nothing.
    """

    def __init__(
        self,
        pytorch_activities: Iterable[torch.profiler.ProfilerActivity] | None = None,
        record_shapes: bool = False,
        pytorch_trace_file: str | PathLike[str] | None = None,
        neuron_output_dir: str | PathLike[str] = "./output",
        event_filters: Any = None,
    ) -> None:
        self.neuron_output_dir = neuron_output_dir
        self.event_filters = event_filters
        self._activities = None if pytorch_activities is None else list(pytorch_activities)
        self._record_shapes = record_shapes
        self._file = pytorch_trace_file
        self._profile: torch.profiler.profile | None = None
        self._active = False

    def start(self) -> None:
        """Begins a new profile. RuntimeError if one is running."""
        if self._active:
            raise RuntimeError("NeuronProfiler.start: it is running already; call stop() first")
        self._profile = torch.profiler.profile(activities=self._activities, record_shapes=self._record_shapes)
        self._profile.start()
        self._active = True

    def stop(self) -> None:
        """Ends the profile, and writes ``pytorch_trace_file`` if there is one. RuntimeError if none is running."""
        if not self._active:
            raise RuntimeError("NeuronProfiler.stop: it is not running; call start() first")
        self._active = False
        self.get_pytorch_trace().stop()
        if self._file is not None:
            self.export_pytorch_trace(self._file)

    def is_active(self) -> bool:
        return self._active

    def get_pytorch_trace(self) -> torch.profiler.profile:
        """The profile by torch.profiler. RuntimeError before start()."""
        if self._profile is None:
            raise RuntimeError("NeuronProfiler: nothing was profiled yet; call start() first")
        return self._profile

    def export_pytorch_trace(self, path: str | PathLike[str]) -> None:
        """Writes the Chrome trace of a profile that has ended."""
        self.get_pytorch_trace().export_chrome_trace(fspath(path))

    def __enter__(self) -> "NeuronProfiler":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
