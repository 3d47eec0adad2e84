"""The report of what ran where: rows, JSON, text and HTML."""

from torch_neuron_sim.report.model import SCHEMA, SCHEMA_VERSION, OpReport
from torch_neuron_sim.report.rows import CallSite, OpRow

__all__ = ["SCHEMA", "SCHEMA_VERSION", "CallSite", "OpReport", "OpRow", "op_report"]


def op_report() -> OpReport:
    """What ran in this process since the last clear_op_tracking()."""
    return OpReport.of_process()
