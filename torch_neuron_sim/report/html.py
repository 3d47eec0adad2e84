"""The report as HTML for a notebook."""

from collections.abc import Sequence
from html import escape

from torch_neuron_sim.report import text
from torch_neuron_sim.report.rows import OpRow


def render(heading: Sequence[str], rows: Sequence[OpRow]) -> str:
    """The same table as text.render, everything that comes from a program escaped."""
    title, *totals = heading
    parts = [f"<p><b>{escape(title)}</b><br>{'<br>'.join(escape(line) for line in totals)}</p>"]
    if rows:
        parts += ["<table>", _row("th", (*text.HEADER, "called from"))]
        parts += (_row("td", (*text.cells(row), "\n".join(text.sites(row)))) for row in rows)
        parts.append("</table>")
    return "\n".join(parts)


def _row(tag: str, cells: Sequence[str]) -> str:
    filled = "".join(f"<{tag}>{'<br>'.join(escape(line) for line in cell.split(chr(10)))}</{tag}>" for cell in cells)
    return f"<tr>{filled}</tr>"
