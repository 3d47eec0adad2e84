"""A progress bar on stderr: redrawn in a terminal, a line at every quarter anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

WIDTH = 30


class Progress:
    """Counts ``total`` steps under ``label``; a context manager that leaves no half-drawn bar behind.

    ``stream`` defaults to what ``sys.stderr`` is when the bar is made; ``enabled=False`` draws nothing.
    """

    def __init__(self, total: int, label: str, *, stream: TextIO | None = None, enabled: bool = True) -> None:
        self.total = total
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self.enabled = enabled
        self.redraws = enabled and self.stream.isatty()
        self.done = 0
        self.start = time.monotonic()

    def advance(self) -> None:
        self.done += 1
        elapsed = time.monotonic() - self.start
        if self.redraws:
            filled = WIDTH * self.done // self.total
            bar = "#" * filled + "." * (WIDTH - filled)
            self.stream.write(f"\r{self.label} [{bar}] {self.done}/{self.total} {elapsed:.0f} s")
            self.stream.flush()
        elif self.enabled and 4 * self.done // self.total > 4 * (self.done - 1) // self.total:
            print(f"{self.label} {self.done}/{self.total} {elapsed:.0f} s", file=self.stream, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.redraws:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
