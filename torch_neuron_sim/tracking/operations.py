"""Which operators ran on the device and which fell back, for the process and for a ``with`` block."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch_neuron_sim import _C
from torch_neuron_sim.coverage import UNRECORDED
from torch_neuron_sim.report import OpReport, ledger

_recordings: list["_Recording"] = []


def get_fallback_ops() -> list[str]:
    """Names of the operators that fell back to the CPU: unique, in order of first use, as TorchNeuron lists them (a
    structured operator under its ``.out`` overload). Process-wide, since the last clear_op_tracking().
    """
    return ledger.unique(
        row.recorded_as for row in ledger.rows() if row.route == "fallback" and row.op not in UNRECORDED
    )


def get_executed_ops() -> list[str]:
    """Names of the operators that ran on the device: unique, in order of first use, each the dispatcher's full name.
    Process-wide, since the last clear_op_tracking().
    """
    return ledger.unique(row.op for row in ledger.rows() if row.route == "native")


def clear_op_tracking() -> None:
    """Forgets what ran, and lets each operator warn again. Running record() blocks keep what they have seen."""
    for recording in _recordings:
        recording.absorb()
    _C.clear_ledger()
    for recording in _recordings:
        recording.restart()


@contextmanager
def record() -> Iterator[OpReport]:
    """Reports what runs within the block, in all threads. The report is empty until the block ends; blocks may nest."""
    report = OpReport.empty()
    recording = _Recording(report)
    _recordings.append(recording)
    try:
        yield report
    finally:
        _recordings.remove(recording)
        recording.absorb()


class _Recording:
    """Adds to a report what the ledger gained."""

    def __init__(self, report: OpReport) -> None:
        self._report = report
        self.restart()

    def restart(self) -> None:
        self._rows = ledger.rows()
        self._overflows = _C.int64_overflows()

    def absorb(self) -> None:
        self._report.add(ledger.difference(ledger.rows(), self._rows), _C.int64_overflows() - self._overflows)
