"""The report of what ran where: a summary, rows, advice; as an object, text, JSON and HTML."""

from torch_neuron_sim.report.data import SCHEMA, SCHEMA_VERSION, load
from torch_neuron_sim.report.model import OpReport
from torch_neuron_sim.report.outcome import Outcome
from torch_neuron_sim.report.rows import CallSite, OpRow

__all__ = [
    "KINDS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "CallSite",
    "OpReport",
    "OpRow",
    "Outcome",
    "load",
    "op_report",
    "render",
]

KINDS = ("text", "json", "html")


def op_report() -> OpReport:
    """What ran in this process since the last clear_op_tracking()."""
    return OpReport.of_process()


def render(report: OpReport, kind: str) -> str:
    """The report as one of KINDS. ValueError for another."""
    if kind == "text":
        return report.to_text()
    if kind == "json":
        return report.to_json(indent=2)
    if kind == "html":
        return report.to_html()
    raise ValueError(f"render: {kind!r} is not a kind of report. Legal: {', '.join(KINDS)}")
