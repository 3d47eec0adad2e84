"""The thread that samples memory and operators while something is recorded: one for all recordings of the process."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Thread

from torch_neuron_sim import _C
from torch_neuron_sim.report import peaks, timing
from torch_neuron_sim.report.rows import MOVING
from torch_neuron_sim.report.timeline import Sample, Tape

COST = 100
"""The thread rests at least so many times as long as taking a sample took, so it uses a hundredth of a core at most."""


class Sampler:
    def __init__(self) -> None:
        self._condition = Condition()  # guards everything below; held while a sample is taken
        self._tapes: list[Tape] = []
        self._thread: Thread | None = None
        self._cleared = (0, 0)  # native and fallback calls that clearing op tracking forgot

    def start(self) -> Tape:
        """A new tape, with a sample of now on it."""
        with self._condition:
            tape = Tape(self._sample())
            self._tapes.append(tape)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="neuron_sim_sampler", daemon=True)
                self._thread.start()
            self._condition.notify_all()
            return tape

    def stop(self, tape: Tape) -> None:
        """Adds a sample of now, and no others from then on."""
        with self._condition:
            if tape in self._tapes:  # not so in a child that was forked while recording
                self._tapes.remove(tape)
            tape.take(self._sample())
            self._condition.notify_all()

    @contextmanager
    def clearing(self) -> Iterator[None]:
        """Around what clears the ledger: calls count on."""
        with self._condition:
            native, fallback = self._cleared
            counted = _calls()
            yield
            self._cleared = (native + counted[0], fallback + counted[1])

    def _sample(self) -> Sample:
        native, fallback = _calls()
        return Sample(timing.now(), peaks.read().current, native + self._cleared[0], fallback + self._cleared[1])

    def _run(self) -> None:
        rested = 0  # when the thread has rested enough
        with self._condition:
            while self._tapes:
                begin = timing.now()
                pause = max(min(tape.due for tape in self._tapes), rested) - begin
                if pause > 0:
                    self._condition.wait(pause / 1e9)
                    continue
                sample = self._sample()
                for tape in self._tapes:
                    if tape.due <= sample.at:
                        tape.take(sample)
                end = timing.now()
                rested = end + COST * (end - begin)
            self._thread = None

    def close(self) -> None:
        """Ends the thread, before the interpreter would end it by force."""
        with self._condition:
            self._tapes.clear()
            self._condition.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def before_fork(self) -> None:
        """A child must not inherit a lock that the thread, which it has not, would have to release."""
        self._condition.acquire()

    def after_fork_in_parent(self) -> None:
        self._condition.release()

    def after_fork_in_child(self) -> None:
        self._condition = Condition()
        self._tapes = []
        self._thread = None


def _calls() -> tuple[int, int]:
    """Native calls, and those that fell back or are unsupported, since the ledger was cleared."""
    native = fallback = 0
    for row in _C.ledger_rows():
        if row["route"] == "native":
            native += row["calls"]
        elif row["route"] in MOVING:
            fallback += row["calls"]
    return native, fallback


sampler = Sampler()
atexit.register(sampler.close)
os.register_at_fork(
    before=sampler.before_fork,
    after_in_parent=sampler.after_fork_in_parent,
    after_in_child=sampler.after_fork_in_child,
)
