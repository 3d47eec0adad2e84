"""The report as text for a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from torch_neuron_sim.report.formats import format_bytes, format_share, plural, relative
from torch_neuron_sim.report.rows import OpRow, Place

__all__ = ["HEADER", "cells", "format_bytes", "place", "render", "section", "sites", "totals"]

HEADER = ("route", "operator", "calls", "bytes", "reason")

_ROUTES = ("unsupported", "fallback", "float64", "native")
_VERBS = {"unsupported": "moved", "fallback": "moved", "native": "read and written"}


def render(heading: Sequence[str], rows: Sequence[OpRow]) -> str:
    """Rows in the order given, each followed by the lines it was called from."""
    table = [HEADER, *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADER))]
    lines = [*heading, ""]
    if rows:
        lines += [_line(HEADER, widths), _line(["-" * width for width in widths], widths)]
    for row in rows:
        lines.append(_line(cells(row), widths))
        lines += (f"{' ' * (widths[0] + 4)}{site}" for site in sites(row))
    return "\n".join(lines).rstrip()


def section(title: str, lines: Sequence[str]) -> str:
    """A titled list, after an empty line; nothing without lines."""
    return "\n".join(["", "", f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""


def cells(row: OpRow) -> tuple[str, ...]:
    """The row under HEADER. A fallback goes by the name that get_fallback_ops() uses."""
    return row.route, row.name, str(row.calls), format_bytes(row.bytes), row.reason


def place(where: Place) -> str:
    return str(replace(where, filename=relative(where.filename)))


def sites(row: OpRow) -> list[str]:
    """The lines the row was called from, the busiest first."""
    ordered = sorted(row.sites, key=lambda site: -site.calls)
    found = [f"{place(site)} ({plural(site.calls, 'call')})" for site in ordered]
    if row.sites_dropped:
        found.append(f"{plural(row.sites_dropped, 'call')} from other lines")
    return found


def totals(rows: Iterable[OpRow]) -> list[str]:
    """One line for each route that occurs, the worst first, with its share of all bytes where native ones are known."""
    rows = list(rows)
    # A float64 row repeats calls that are in a native row as well.
    native = sum(row.bytes for row in rows if row.route == "native")
    whole = native + sum(row.moved for row in rows)
    found = []
    for route in _ROUTES:
        chosen = [row for row in rows if row.route == route]
        if not chosen:
            continue
        calls = plural(sum(row.calls for row in chosen), "call")
        line = f"{route}: {plural(len({row.op for row in chosen}), 'operator')}, {calls}"
        size = sum(row.bytes for row in chosen)
        if route == "float64":
            line += " computed as float32"
        elif size:
            line += f", {format_bytes(size)} {_VERBS[route]}"
            line += f", {format_share(size, whole)} of all bytes" if native else ""
        found.append(line)
    return found


def _line(values: Sequence[str], widths: Sequence[int]) -> str:
    route, name, calls, size, reason = values
    return f"{route:<{widths[0]}}  {name:<{widths[1]}}  {calls:>{widths[2]}}  {size:>{widths[3]}}  {reason}".rstrip()
