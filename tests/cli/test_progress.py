"""The progress bar: redrawn in a terminal, a line at every quarter elsewhere."""

from __future__ import annotations

import io

from torch_neuron_sim.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def draw(stream: io.StringIO, total: int, enabled: bool = True) -> str:
    with Progress(total, "training", stream=stream, enabled=enabled) as progress:
        for _ in range(total):
            progress.advance()
    return stream.getvalue()


def test_progress_redraws_in_a_terminal_only() -> None:
    drawn = draw(Terminal(), 10)
    assert drawn.count("\r") == 11
    assert "\n" not in drawn
    assert drawn.endswith("\r\x1b[K")
    plain = draw(io.StringIO(), 10)
    assert [line.split()[1] for line in plain.splitlines()] == ["3/10", "5/10", "8/10", "10/10"]
    assert "\r" not in plain
    assert draw(Terminal(), 10, enabled=False) == draw(io.StringIO(), 10, enabled=False) == ""
