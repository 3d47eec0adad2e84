"""Plots as inline SVG: lines over time, described in words as well, without a script."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from torch_neuron_sim.report.formats import format_bytes, format_seconds
from torch_neuron_sim.report.summary import SHOWN_DEVICES
from torch_neuron_sim.report.timeline import Timeline

WIDTH, HEIGHT = 800, 200
LEFT, RIGHT, TOP, BOTTOM = 80, 40, 10, 26
TICKS = 4
"""Intervals between ticks of an axis, about."""


@dataclass(frozen=True)
class Axis:
    format_value: Callable[[float], str]
    round_values: Sequence[float]  # between which ticks may lie apart, ascending

    def ticks(self, top: float) -> list[float]:
        """Round values from 0 to the first that is not below ``top``."""
        step = next(step for step in self.round_values if step * TICKS >= top)
        return [step * tick for tick in range(math.ceil(top / step) + 1)]


_DECIMAL = [factor * 10.0**power for power in range(-9, 16) for factor in (1, 2, 5)]
_BINARY = [2.0**power for power in range(60)]

SECONDS = Axis(lambda seconds: format_seconds(seconds) if seconds else "0", _DECIMAL)
BYTES = Axis(lambda value: format_bytes(round(value)), _BINARY)
RATE = Axis(lambda value: f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}", _DECIMAL)


@dataclass(frozen=True)
class Line:
    label: str
    times: Sequence[float]  # seconds
    values: Sequence[float]
    steps: bool  # a value holds from its time to the next one


def memory(timeline: Timeline, mark: float | None) -> str:
    """Bytes that tensors hold, by device; ``mark`` is the second of the last compilation."""
    held = timeline.allocated_bytes
    chosen = sorted(sorted(held, key=lambda device: -max(held[device]))[:SHOWN_DEVICES])
    lines = [Line(f"neuron:{device}", timeline.times_s, held[device], steps=False) for device in chosen]
    left_out = len(held) - len(chosen)
    title = "Memory that tensors hold" + (f" ({left_out} devices with a lower peak left out)" if left_out else "")
    return _figure(title, lines, BYTES, mark)


def native(timeline: Timeline, mark: float | None) -> str:
    """Calls a second on the device."""
    line = _rate("native", timeline, timeline.native_calls)
    return _figure("Operators on the device, calls a second", [line], RATE, mark)


def fallback(timeline: Timeline, mark: float | None) -> str:
    """Calls a second off the device."""
    line = _rate("fallback", timeline, timeline.fallback_calls)
    return _figure("Operators that left the device, calls a second", [line], RATE, mark)


def _rate(label: str, timeline: Timeline, calls: Sequence[int]) -> Line:
    """The mean rate of each interval, from its begin on."""
    times, rates = [], []
    for (begin, end), (before, after) in zip(pairwise(timeline.times_s), pairwise(calls), strict=True):
        if end > begin:
            times.append(begin)
            rates.append(max(after - before, 0) / (end - begin))
    if times:
        times.append(timeline.times_s[-1])
        rates.append(rates[-1])
    return Line(label, times, rates, steps=True)


def _figure(title: str, lines: Sequence[Line], axis: Axis, mark: float | None) -> str:
    drawn = [line for line in lines if len(line.times) > 1 and max(line.values) > 0]
    caption = f"<figcaption>{escape(title)}</figcaption>"
    if not drawn:
        return f'<figure>{caption}<p class="note">none</p></figure>'
    end = max(line.times[-1] for line in drawn)
    ticks = axis.ticks(max(max(line.values) for line in drawn))
    peaks = [f"{line.label}: at most {axis.format_value(max(line.values))}" for line in drawn]
    spoken = escape(f"{title}, over {format_seconds(end)}. {'; '.join(peaks)}.")
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{spoken}">', *_grid(end, ticks, axis)]
    if mark is not None and 0 < mark < end:
        parts += _mark(_x(mark, end))
    for number, line in enumerate(drawn):
        points = _points(line, end, ticks[-1])
        parts.append(f'<polyline class="series" style="stroke:var(--c{number})" points="{points}"/>')
    parts.append("</svg>")
    legend = "".join(
        f'<li><i style="background:var(--c{number})"></i>{escape(peak)}</li>' for number, peak in enumerate(peaks)
    )
    return f'<figure>{caption}{"".join(parts)}<ul class="legend">{legend}</ul></figure>'


def _grid(end: float, ticks: Sequence[float], axis: Axis) -> list[str]:
    parts = []
    for value in ticks:
        y = _y(value, ticks[-1])
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        label = escape(axis.format_value(value))
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for seconds in SECONDS.ticks(end):
        if seconds <= end:
            label = SECONDS.format_value(seconds)
            parts.append(f'<text x="{_x(seconds, end)}" y="{HEIGHT - 8}" text-anchor="middle">{label}</text>')
    return parts


def _mark(x: float) -> list[str]:
    anchor, shift = ("end", -4) if x > WIDTH / 2 else ("start", 4)
    return [
        f'<line class="mark" x1="{x}" y1="{TOP}" x2="{x}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text x="{x + shift:.1f}" y="{TOP + 10}" text-anchor="{anchor}">last new compile key</text>',
    ]


def _points(line: Line, end: float, top: float) -> str:
    found: list[str] = []
    previous: float | None = None
    for time, value in zip(line.times, line.values, strict=True):
        if line.steps and previous is not None:
            found.append(f"{_x(time, end)},{_y(previous, top)}")
        found.append(f"{_x(time, end)},{_y(value, top)}")
        previous = value
    return " ".join(found)


def _x(time: float, end: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * time / end, 1)


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)
