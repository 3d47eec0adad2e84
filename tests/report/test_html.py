"""The report as HTML: the same facts as the text, and nothing of a program's can become markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from torch_neuron_sim import OpReport
from torch_neuron_sim.report import CallSite, OpRow, Outcome, summary, text

VOID = {"br", "meta", "line", "polyline"}
OURS = {"section", "style", "h1", "h2", "dl", "dt", "dd", "p", "span", "div", "ul", "li", "i", "code", "br"}
OURS |= {
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "figure",
    "figcaption",
    "svg",
    "line",
    "text",
    "polyline",
}


class Reader(HTMLParser):
    """Collects tags, the texts of cells and of dt and dd, and attributes; checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.terms: list[str] = []
        self.captions: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "br":
            self.handle_data("\n")
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag in ("dt", "dd"):
            self.terms.append("")
        elif tag == "figcaption":
            self.captions.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = {"td", "th"} & set(self.open)
        if inside:
            self.rows[-1][-1] += data
        elif self.open and self.open[-1] in ("dt", "dd"):
            self.terms[-1] += data
        elif self.open and self.open[-1] == "figcaption":
            self.captions[-1] += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def test_cells_are_those_of_the_text(full: OpReport) -> None:
    reader = read(full._repr_html_())
    header, *rows = reader.rows
    assert header == [*text.HEADER, "called from"]
    assert rows[:5] == [[*text.cells(row), "\n".join(text.sites(row))] for row in full.sorted_rows()]
    assert rows[5:] == [
        ["operator", "keys", "calls", "what varies"],
        ["aten::linear", "4", "8", "dimension 1 of input 0 took 4 values (5, 6, 7, 9)"],
    ]


def test_summary_is_that_of_the_text(full: OpReport) -> None:
    terms = read(full._repr_html_()).terms
    assert [f"{label}: {rest}" for label, rest in zip(terms[::2], terms[1::2], strict=True)] == summary.lines(full)


def test_advice_is_that_of_the_text(full: OpReport) -> None:
    items = re.findall(r"<li>(.*?) <span", full._repr_html_().split("<h2>Advice</h2>")[1])
    assert items == [each.text for each in full.advice]


def test_plots(full: OpReport) -> None:
    html = full._repr_html_()
    assert read(html).captions == [
        "Memory that tensors hold",
        "Operators on the device, calls a second",
        "Operators that left the device, calls a second",
    ]
    assert html.count("<polyline") == 4
    assert html.count("last new compile key</text>") == 3
    assert 'aria-label="Memory that tensors hold, over 3.0 s. neuron:0: at most 3.0 MiB; neuron:2: at most' in html


def test_without_a_recording_the_page_says_so(report: OpReport) -> None:
    html = report.to_html()
    assert "<svg" not in html
    assert "Not recorded. torch_neuron_sim.record()" in html


def test_only_tags_of_our_own_and_nothing_that_runs_or_loads(full: OpReport) -> None:
    reader = read(full._repr_html_())
    assert reader.tags <= OURS
    page = read(full.to_html())
    assert page.tags - OURS == {"html", "head", "meta", "title", "body"}
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href", "srcset")}
    assert not re.search(r"url\(|@import|https?:", full.to_html())
    assert "default-src 'none'" in full.to_html()


def test_style_is_scoped_to_the_report(full: OpReport) -> None:
    style = full._repr_html_().split("<style>")[1].split("</style>")[0]
    selectors = re.findall(r"^\s*([^\s{}][^{}:;]*)\{", re.sub(r"@media[^{]*\{", "", style), flags=re.MULTILINE)
    assert len(selectors) > 10
    assert all(part.strip().startswith(".neuron-report") for each in selectors for part in each.split(","))


def test_everything_from_a_program_is_escaped(full: OpReport) -> None:
    hostile = "<script>alert('&')</script><img src=x onerror=\"y\">"
    site = CallSite(hostile, 1, hostile, 1)
    row = OpRow(hostile, hostile, "unsupported", hostile, 1, 1, 1, (site,), 0)
    assert full.compilations is not None
    keys = [replace(key, op=hostile, static=hostile) for key in full.compilations.keys]
    report = replace(
        full,
        coverage=hostile,
        instance=hostile,
        rows=[row],
        compilations=replace(full.compilations, keys=keys),
        outcome=Outcome.of(ValueError(hostile)),
    )
    for html in (report._repr_html_(), report.to_html()):
        assert "<script" not in html
        assert "<img" not in html
        reader = read(html)
        assert not {name for name in reader.attributes if name.startswith("on")}
        assert reader.rows[1][1] == hostile
        assert reader.rows[1][4] == hostile
        assert reader.rows[1][5] == f"{hostile}:1 in {hostile} (1 call)"


def test_no_table_when_nothing_ran() -> None:
    empty = OpReport("all", "trn2.3xlarge", [], 0)
    assert "nothing ran" in empty._repr_html_()
    assert not {"table", "svg"} & read(empty.to_html()).tags


@pytest.mark.parametrize("outcome", [None, Outcome.of(None)])
def test_page_is_a_whole_document(full: OpReport, outcome: Outcome | None) -> None:
    page = replace(full, outcome=outcome).to_html()
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert '<meta charset="utf-8">' in page
    assert full._repr_html_().splitlines()[-1] in page
