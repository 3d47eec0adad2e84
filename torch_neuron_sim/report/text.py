"""The report as a table for a terminal."""

from collections.abc import Iterable, Sequence

from torch_neuron_sim.report.rows import OpRow

HEADER = ("route", "operator", "calls", "bytes moved", "reason")

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_ROUTES = ("unsupported", "fallback", "float64", "native")


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


def cells(row: OpRow) -> tuple[str, ...]:
    """The row under HEADER. A fallback goes by the name that get_fallback_ops() uses."""
    name = row.op if row.route == "native" else row.recorded_as
    return row.route, name, str(row.calls), format_bytes(row.bytes), row.reason


def sites(row: OpRow) -> list[str]:
    """The lines the row was called from, the busiest first."""
    found = [f"{site} ({_plural(site.calls, 'call')})" for site in sorted(row.sites, key=lambda site: -site.calls)]
    if row.sites_dropped:
        found.append(f"{_plural(row.sites_dropped, 'call')} from other lines")
    return found


def totals(rows: Iterable[OpRow]) -> list[str]:
    """One line for each route that occurs, the worst first."""
    found = []
    for route in _ROUTES:
        chosen = [row for row in rows if row.route == route]
        if chosen:
            operators = len({row.op for row in chosen})
            line = f"{route}: {_plural(operators, 'operator')}, {_plural(sum(row.calls for row in chosen), 'call')}"
            moved = sum(row.bytes for row in chosen)
            found.append(f"{line}, {format_bytes(moved)} moved" if moved else line)
    return found


def format_bytes(count: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at least 1."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count} B" if power == 0 else f"{count / 1024**power:.1f} {_UNITS[power]}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _line(values: Sequence[str], widths: Sequence[int]) -> str:
    route, name, calls, moved, reason = values
    return f"{route:<{widths[0]}}  {name:<{widths[1]}}  {calls:>{widths[2]}}  {moved:>{widths[3]}}  {reason}".rstrip()
