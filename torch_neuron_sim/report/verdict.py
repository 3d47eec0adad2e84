"""Whether a program ran here, and whether it would on the real device."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch_neuron_sim.report.formats import plural
from torch_neuron_sim.report.outcome import RAISED, Outcome
from torch_neuron_sim.report.rows import OpRow
from torch_neuron_sim.report.text import place

SNAPSHOT = "snapshot-2026-04"
OUT_OF_MEMORY = "torch.OutOfMemoryError"


@dataclass(frozen=True)
class Verdict:
    """The two answers, and what the second rests on."""

    here: str  # how it ended
    device: str  # runs, falls back, raises, incomplete (it ended with an error here), or unknown
    explanation: str  # of ``device``
    basis: str  # what it rests on


def judge(outcome: Outcome | None, rows: Sequence[OpRow], coverage: str, refused_graphs: int = 0) -> Verdict:
    here = "still running when the report was made" if outcome is None else str(outcome)
    device, explanation = _device(outcome, rows, coverage, refused_graphs)
    return Verdict(here, device, explanation, _basis(coverage))


def _device(outcome: Outcome | None, rows: Sequence[OpRow], coverage: str, refused_graphs: int) -> tuple[str, str]:
    if not rows:
        return "unknown", "no operator ran on neuron"
    if coverage == "all":
        return "unknown", "the coverage table makes every operator native"
    unsupported = sorted((row for row in rows if row.route == "unsupported"), key=lambda row: row.first_use)
    if unsupported:
        first = unsupported[0]
        known = [place(site) for site in first.sites if site.filename or site.function]
        where = f", called from {known[0]}" if known else ""
        return "raises", f"would raise at {first.name}{where}: {first.reason}{_others(len(unsupported) - 1)}"
    if refused_graphs:
        return "raises", (
            f"would raise in torch.compile: the real compile fails on {plural(refused_graphs, 'graph')}, whose "
            "operators a CompileWarning names"
        )
    fallbacks = [row for row in rows if row.route == "fallback"]
    operators = len({row.op for row in fallbacks})
    aside = f"with {plural(operators, 'operator')} on the CPU" if fallbacks else "every operator on the device"
    refused = len({row.op for row in fallbacks if row.reason != "no native kernel"})
    if refused:
        aside += (
            f"; {refused} of them would raise with TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1, as a kernel "
            "refuses the arguments"
        )
    if outcome is not None and outcome.kind == RAISED:
        if outcome.type == OUT_OF_MEMORY:
            return "raises", "would run out of memory too: the tensors do not fit the HBM"
        return "incomplete", f"the program ended with an error here; what ran until then would run, {aside}"
    return ("falls back" if fallbacks else "runs"), f"would run, {aside}"


def _others(count: int) -> str:
    return f" (and at {plural(count, 'other operator')})" if count else ""


def _basis(coverage: str) -> str:
    if coverage == SNAPSHOT:
        return (
            f"coverage table {coverage}, from the public pre-release source of TorchNeuron of April 2026; a "
            "later release may run more operators"
        )
    return f"coverage table {coverage}"
