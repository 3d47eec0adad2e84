"""The report as HTML: a fragment for a notebook, and a whole page that loads nothing."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from torch_neuron_sim.report import plots, summary, text
from torch_neuron_sim.report.style import STYLE

if TYPE_CHECKING:
    from torch_neuron_sim.report.advice import Advice
    from torch_neuron_sim.report.model import OpReport
    from torch_neuron_sim.report.recompiles import Multiplied
    from torch_neuron_sim.report.rows import OpRow

# Even text of a program's that got through unescaped could load or run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(report: "OpReport") -> str:
    title = escape(summary.title(report))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>body {{ margin: 0; }}</style>\n</head>\n<body>\n"
        f"{fragment(report)}\n</body>\n</html>\n"
    )


def fragment(report: "OpReport") -> str:
    """Everything, everything that comes from a program escaped, and its style, which touches nothing else."""
    parts = [
        f'<section class="neuron-report">\n<style>\n{STYLE}</style>',
        f"<h1>{escape(summary.title(report))}</h1>",
        _summary(report),
        _plots(report),
        _rows(report.sorted_rows()),
        _shapes(summary.shapes(report)),
        _advice(report.advice),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _summary(report: "OpReport") -> str:
    parts = []
    for label, rest in summary.split(summary.lines(report)):
        verdict = label == "on the real device"
        css = f' class="{report.verdict.device.replace(" ", "-")}"' if verdict else ""
        parts.append(f"<dt>{escape(label)}</dt><dd{css}>{escape(rest)}</dd>")
    return f"<dl>\n{chr(10).join(parts)}\n</dl>"


def _plots(report: "OpReport") -> str:
    if not report.rows:
        return ""
    heading = "<h2>Over time</h2>"
    timeline = report.timeline
    if timeline is None:
        return (
            f'{heading}\n<p class="note">Not recorded. torch_neuron_sim.record() and neuron-sim run record memory and '
            "operators over time.</p>"
        )
    mark = report.time.first_run_s if report.time is not None else None
    return "\n".join([heading, *(plot(timeline, mark) for plot in (plots.memory, plots.native, plots.fallback))])


def _rows(rows: Sequence["OpRow"]) -> str:
    if not rows:
        return ""
    body = (_cells("td", [*text.cells(row), "\n".join(text.sites(row))], numbers=(2, 3), code=(1, 5)) for row in rows)
    return _table(
        "Operators, what costs most first",
        "bytes: of a fallback, moved between host and device; of a native operator, read and written on the device",
        [*text.HEADER, "called from"],
        body,
        numbers=(2, 3),
    )


def _shapes(found: Sequence["Multiplied"]) -> str:
    if not found:
        return ""
    body = (_cells("td", [each.op, str(each.keys), str(each.calls), str(each)], (1, 2), (0,)) for each in found)
    return _table(
        "Compile keys by shape",
        "each key compiles on first use",
        ["operator", "keys", "calls", "what varies"],
        body,
        numbers=(1, 2),
    )


def _advice(found: Sequence["Advice"]) -> str:
    if not found:
        return ""
    lines = (f'<li>{escape(each.text)} <span class="source">[{escape(each.source)}]</span></li>' for each in found)
    return f"<h2>Advice</h2>\n<ul>\n{chr(10).join(lines)}\n</ul>"


def _table(title: str, caption: str, header: Sequence[str], body: Iterable[str], numbers: Sequence[int]) -> str:
    head = _cells('th scope="col"', header, numbers, ())
    return (
        f'<h2>{title}</h2>\n<div class="scroll"><table>\n<caption>{caption}</caption>\n'
        f"<thead>{head}</thead>\n<tbody>\n{chr(10).join(body)}\n</tbody>\n</table></div>"
    )


def _cells(tag: str, cells: Sequence[str], numbers: Sequence[int], code: Sequence[int]) -> str:
    parts = []
    for position, cell in enumerate(cells):
        filled = "<br>".join(escape(line) for line in cell.split("\n"))
        filled = f"<code>{filled}</code>" if position in code and filled else filled
        css = ' class="number"' if position in numbers else ""
        parts.append(f"<{tag}{css}>{filled}</{tag.split()[0]}>")
    return f"<tr>{''.join(parts)}</tr>"
