"""The report as HTML: the same cells, and nothing of a program's can become markup."""

from __future__ import annotations

from html.parser import HTMLParser

from torch_neuron_sim import OpReport
from torch_neuron_sim.report import CallSite, OpRow, text


class Reader(HTMLParser):
    """Collects tags and the texts of cells; void tags need no end."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs == []
        self.tags.add(tag)
        if tag == "br":
            self.handle_data("\n")
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(report: OpReport) -> Reader:
    reader = Reader()
    reader.feed(report._repr_html_())
    reader.close()
    assert reader.open == []
    return reader


def test_cells_are_those_of_the_text(report: OpReport) -> None:
    reader = read(report)
    header, *rows = reader.rows
    assert header == [*text.HEADER, "called from"]
    assert rows == [[*text.cells(row), "\n".join(text.sites(row))] for row in report.sorted_rows()]


def test_only_tags_of_our_own(report: OpReport) -> None:
    assert read(report).tags == {"p", "b", "br", "table", "tr", "th", "td"}


def test_everything_from_a_program_is_escaped() -> None:
    hostile = "<script>alert('&')</script><img src=x onerror=\"y\">"
    site = CallSite(hostile, 1, hostile, 1)
    report = OpReport(hostile, hostile, [OpRow(hostile, hostile, "fallback", hostile, 1, 1, 1, (site,), 0)], 0)
    page = report._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    reader = read(report)
    assert reader.tags <= {"p", "b", "br", "table", "tr", "th", "td"}
    assert reader.rows[1][1] == hostile
    assert reader.rows[1][4] == hostile
    assert reader.rows[1][5] == f"{hostile}:1 in {hostile} (1 call)"


def test_heading_and_no_table_when_nothing_ran(report: OpReport) -> None:
    assert "fallback: 1 operator, 4 calls, 3.0 MiB moved" in report._repr_html_()
    empty = OpReport("all", "trn2.3xlarge", [], 0)
    assert "nothing ran" in empty._repr_html_()
    assert "table" not in read(empty).tags
