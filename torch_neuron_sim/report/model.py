"""The report object."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import torch

from torch_neuron_sim import _C, coverage
from torch_neuron_sim.report import ledger, text
from torch_neuron_sim.report.rows import OpRow

SCHEMA = "torch_neuron_sim.op_report"
SCHEMA_VERSION = 1


@dataclass(repr=False)
class OpReport:
    """What ran where. ``print(report)`` for a table; notebooks show it as HTML."""

    coverage: str  # name of the coverage table
    instance: str  # the simulated instance, e.g. trn2.3xlarge
    rows: list[OpRow]  # in order of first use
    int64_overflows: int  # int64 values beyond 32 bits that native operators returned; the real device may narrow them

    @classmethod
    def empty(cls) -> "OpReport":
        return cls(coverage.coverage_name(), _C.topology()["instance"], [], 0)

    @classmethod
    def of_process(cls) -> "OpReport":
        report = cls.empty()
        report.add(ledger.rows(), _C.int64_overflows())
        return report

    def add(self, rows: list[OpRow], int64_overflows: int) -> None:
        """Counts in what ran in a later period."""
        self.coverage = coverage.coverage_name()
        self.rows = ledger.total(self.rows, rows)
        self.int64_overflows += int64_overflows

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as written by to_json. ``schema_version`` grows with every incompatible change."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "torch": torch.__version__,
            "instance": self.instance,
            "coverage": self.coverage,
            "coverage_unknown_ops": list(coverage.coverage_table().unknown),
            "int64_overflows": self.int64_overflows,
            "rows": [asdict(row) for row in self.rows],
        }

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        return text.render(self.heading(), self.sorted_rows())

    def __repr__(self) -> str:
        return f"<OpReport: {', '.join(text.totals(self.rows)) or 'nothing ran'}>"

    def _repr_html_(self) -> str:
        from torch_neuron_sim.report import html  # for notebooks alone, so not part of every start

        return html.render(self.heading(), self.sorted_rows())

    def heading(self) -> list[str]:
        lines = [f"Operators on neuron ({self.instance}, coverage {self.coverage})"]
        lines += text.totals(self.rows) or ["nothing ran"]
        if self.int64_overflows:
            lines.append(f"{self.int64_overflows} int64 values beyond 32 bits: the real device may narrow them")
        return lines

    def sorted_rows(self) -> list[OpRow]:
        """What moves most bytes first, then what is called most."""
        return sorted(self.rows, key=lambda row: (-row.bytes, -row.calls, row.first_use))
