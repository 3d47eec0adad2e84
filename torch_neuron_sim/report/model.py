"""The report object."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_neuron_sim import _C, coverage
from torch_neuron_sim.report import compilations, device_time, ledger, peaks, summary, text, timing, verdict
from torch_neuron_sim.report.compilations import Compilations
from torch_neuron_sim.report.device_time import DeviceTime
from torch_neuron_sim.report.outcome import Outcome
from torch_neuron_sim.report.peaks import DeviceMemory
from torch_neuron_sim.report.recompiles import Multiplied, multiplied
from torch_neuron_sim.report.rows import OpRow
from torch_neuron_sim.report.timeline import Timeline
from torch_neuron_sim.report.timing import Times
from torch_neuron_sim.report.verdict import Verdict

if TYPE_CHECKING:
    from torch_neuron_sim.report.advice import Advice
    from torch_neuron_sim.report.compare import Comparison


@dataclass(repr=False)
class OpReport:
    """What ran where. ``print(report)`` for text; notebooks show it as HTML. What is None or empty is not known."""

    coverage: str  # name of the coverage table
    instance: str  # the simulated instance, e.g. trn2.3xlarge
    rows: list[OpRow]  # in order of first use
    int64_overflows: int  # int64 values beyond 32 bits that native operators returned; the real device may narrow them
    compilations: Compilations | None = None
    memory: list[DeviceMemory] = field(default_factory=list)
    time: Times | None = None
    device_time: DeviceTime | None = None  # None: the time model is off
    timeline: Timeline | None = None  # only of a block that was recorded
    outcome: Outcome | None = None  # None: not over when the report was made
    refused_graphs: int = 0  # of torch.compile(backend="neuron"), on which the real compile fails

    @classmethod
    def empty(cls) -> "OpReport":
        return cls(coverage.coverage_name(), _C.topology()["instance"], [], 0)

    @classmethod
    def of_process(cls) -> "OpReport":
        """Operators since op tracking was cleared; keys since the compile cache was; memory and time from the start."""
        report = cls.empty()
        report.add(ledger.rows(), _C.int64_overflows(), compilations.read(), device_time.read())
        report.memory = peaks.of_process()
        report.time = timing.of_process()
        report.refused_graphs = refused_graphs()
        return report

    def add(
        self,
        rows: list[OpRow],
        int64_overflows: int,
        compiled: Compilations | None = None,
        simulated: DeviceTime | None = None,
    ) -> None:
        """Counts in what ran in a later period."""
        self.coverage = coverage.coverage_name()
        self.rows = ledger.total(self.rows, rows)
        self.int64_overflows += int64_overflows
        if compiled is not None:
            self.compilations = compiled if self.compilations is None else self.compilations.plus(compiled)
        if simulated is not None:
            self.device_time = simulated if self.device_time is None else self.device_time.plus(simulated)

    @property
    def verdict(self) -> Verdict:
        """Whether the program ran here, and whether it would on the real device."""
        return verdict.judge(self.outcome, self.rows, self.coverage, self.refused_graphs)

    @property
    def multiplied(self) -> list[Multiplied]:
        """Operators with several compile keys, and the shapes that multiply them; most keys first."""
        return multiplied(self.compilations.keys) if self.compilations is not None else []

    @property
    def advice(self) -> "list[Advice]":
        """What to change, each with the fact that supports it."""
        from torch_neuron_sim.report import advice  # as below, for those who ask, so not part of every start

        return advice.give(self)

    def sorted_rows(self) -> list[OpRow]:
        """What costs most first: what moves bytes off the device, then what touches most there, then most calls."""
        return sorted(self.rows, key=lambda row: (-row.moved, -row.bytes, -row.calls, row.first_use))

    def heading(self) -> list[str]:
        """The title and the lines of the summary."""
        return [summary.title(self), *summary.lines(self)]

    def to_text(self) -> str:
        """Summary, operators with the lines that called them, shapes, advice. ``print(report)`` prints it."""
        shapes = [f"{each.op}: {each.keys} keys; {each}" for each in summary.shapes(self)]
        return (
            text.render(self.heading(), self.sorted_rows())
            + text.section("Compile keys by shape", shapes)
            + text.section("Advice", [str(each) for each in self.advice])
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as written by to_json; docs/report.md explains the fields. ``schema_version`` grows with every
        incompatible change.
        """
        from torch_neuron_sim.report import data

        return data.of(self)

    def to_json(self, indent: int | None = None) -> str:
        """What to_dict() gives, as JSON; torch_neuron_sim.report.load() reads a file of it."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_html(self) -> str:
        """A whole page, which loads nothing."""
        from torch_neuron_sim.report import html

        return html.page(self)

    def compare(self, earlier: Mapping[str, Any]) -> "Comparison":
        """What changed since an earlier report, given as to_dict() or load() returns it. ValueError for other data."""
        from torch_neuron_sim.report import compare

        return compare.compare(earlier, self.to_dict())

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<OpReport: {', '.join(text.totals(self.rows)) or 'nothing ran'}>"

    def _repr_html_(self) -> str:
        from torch_neuron_sim.report import html

        return html.fragment(self)


def refused_graphs() -> int:
    """Of this process so far."""
    from torch_neuron_sim import dynamo  # which knows the report

    return dynamo.get_dynamo_metrics()["graphs_that_would_fail"]
