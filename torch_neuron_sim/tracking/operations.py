"""Which operators ran on the device and which fell back, for the process and for a ``with`` block."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch_neuron_sim import _C
from torch_neuron_sim.coverage import UNRECORDED
from torch_neuron_sim.report import OpReport, Outcome, compilations, device_time, ledger, peaks, timing
from torch_neuron_sim.report.model import refused_graphs
from torch_neuron_sim.report.sampler import sampler

_recordings: list["_Recording"] = []
# Names that a program has added itself, through torch_neuronx._C.
_noted_executed: list[str] = []
_noted_fallback: list[str] = []


def get_fallback_ops() -> list[str]:
    """Names of the operators that fell back to the CPU: unique, in order of first use, as TorchNeuron lists them (a
    structured operator under its ``.out`` overload). Process-wide, since the last clear_op_tracking().
    """
    found = [row.recorded_as for row in ledger.rows() if row.route == "fallback" and row.op not in UNRECORDED]
    return ledger.unique(found + _noted_fallback)


def get_executed_ops() -> list[str]:
    """Names of the operators that ran on the device: unique, in order of first use, each the dispatcher's full name.
    Process-wide, since the last clear_op_tracking().
    """
    return ledger.unique([row.op for row in ledger.rows() if row.route == "native"] + _noted_executed)


def note_executed(name: str) -> None:
    """Adds a name to the end of get_executed_ops(); the report does not know it."""
    _noted_executed.append(name)


def note_fallback(name: str) -> None:
    """Adds a name to the end of get_fallback_ops(); the report does not know it."""
    _noted_fallback.append(name)


def clear_op_tracking() -> None:
    """Forgets what ran, and lets each operator warn again. Running record() blocks keep what they have seen."""
    with recordings_kept(), sampler.clearing():
        _C.clear_ledger()
        _noted_executed.clear()
        _noted_fallback.clear()


@contextmanager
def recordings_kept() -> Iterator[None]:
    """Around what clears the ledger or the compile cache: running record() blocks keep what they have seen."""
    for recording in _recordings:
        recording.absorb()
    yield
    for recording in _recordings:
        recording.restart()


@contextmanager
def record() -> Iterator[OpReport]:
    """Reports what runs within the block, in all threads. The report is empty until the block ends; blocks may nest.

    Memory and operators over time are sampled by a thread, at most 600 times.
    """
    report = OpReport.empty()
    recording = _Recording(report)
    _recordings.append(recording)
    outcome = Outcome.of(None)
    try:
        yield report
    except BaseException as error:
        outcome = Outcome.of(error)
        raise
    finally:
        _recordings.remove(recording)
        recording.end(outcome)


class _Recording:
    """Adds to a report what the counters gained."""

    def __init__(self, report: OpReport) -> None:
        self._report = report
        self._time = timing.starting_at(timing.now())
        self._memory = peaks.read()
        self._tape = sampler.start()
        self._refused_graphs = refused_graphs()
        self.restart()

    def restart(self) -> None:
        self._rows = ledger.rows()
        self._overflows = _C.int64_overflows()
        self._compilations = compilations.read()
        self._device_time = device_time.read()

    def absorb(self) -> None:
        simulated = device_time.read()
        if simulated is not None and self._device_time is not None:
            simulated = simulated.minus(self._device_time)
        self._report.add(
            ledger.difference(ledger.rows(), self._rows),
            _C.int64_overflows() - self._overflows,
            compilations.read().minus(self._compilations),
            simulated,
        )
        self._time = self._time.until_now()

    def end(self, outcome: Outcome) -> None:
        self.absorb()
        sampler.stop(self._tape)
        self._report.time = self._time
        self._report.memory = peaks.of_block(self._memory, peaks.read(), self._tape.peaks)
        self._report.timeline = self._tape.timeline()
        self._report.outcome = outcome
        self._report.refused_graphs = max(0, refused_graphs() - self._refused_graphs)
