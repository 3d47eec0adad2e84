"""Advice: what to change in a program, only where a fact supports it. The table is RULES."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_neuron_sim import coverage
from torch_neuron_sim.report.formats import plural
from torch_neuron_sim.report.replacements import REPLACEMENTS

if TYPE_CHECKING:
    from torch_neuron_sim.report.model import OpReport

MANY_CALLS = 10
"""Calls from which on advice about an operator that works, but costs, is worth a line."""

MANY_VALUES = 4
"""Values of one dimension from which on the advice to pad is given: fewer are as likely layers of different widths."""


@dataclass(frozen=True)
class Advice:
    """One piece of advice, and the fact behind it."""

    rule: str  # name of the rule
    ops: tuple[str, ...]  # that it is about
    text: str
    source: str  # of the fact that supports it

    def __str__(self) -> str:
        return f"{self.text} [{self.source}]"


@dataclass(frozen=True)
class Rule:
    name: str
    find: Callable[["OpReport"], Sequence[str]]  # the operators that the rule is about
    text: str  # {ops} are the operators
    source: str


def give(report: "OpReport") -> list[Advice]:
    """In the order of the rules."""
    found = []
    for rule in RULES:
        ops = tuple(dict.fromkeys(rule.find(report)))
        if ops:
            found.append(Advice(rule.name, ops, rule.text.format(ops=_list(ops)), rule.source))
    return [*found, *_shapes(report), *_replacements(report)]


def _list(ops: Sequence[str]) -> str:
    shown = ", ".join(ops[:5])
    return f"{shown} and {len(ops) - 5} more" if len(ops) > 5 else shown


def _reason(pattern: str) -> Callable[["OpReport"], Sequence[str]]:
    """Fallbacks with a reason like this."""

    def find(report: "OpReport") -> list[str]:
        return [row.name for row in report.sorted_rows() if row.route == "fallback" and re.search(pattern, row.reason)]

    return find


def _route(route: str) -> Callable[["OpReport"], Sequence[str]]:
    return lambda report: [row.name for row in report.sorted_rows() if row.route == route]


def _called(names: str, route: str, calls: int) -> Callable[["OpReport"], Sequence[str]]:
    """Operators whose name without overload is one of ``names``, called so often on that route."""
    wanted = {f"aten::{name}" for name in names.split()}

    def find(report: "OpReport") -> list[str]:
        return [
            row.name
            for row in report.sorted_rows()
            if row.route == route and row.calls >= calls and row.op.split(".")[0] in wanted
        ]

    return find


def _shapes(report: "OpReport") -> list[Advice]:
    """One line for all operators: one varying length gives most of a model's operators new keys."""
    found = [each for each in report.multiplied if each.value_count >= MANY_VALUES]
    if not found:
        return []
    ops, most = tuple(each.op for each in found), found[0]
    return [
        Advice(
            "shapes",
            ops,
            f"{_list(ops)} compile for many shapes; {most.op} has {most.keys} keys, as dimension {most.dimension} of "
            f"input {most.input} took {most.value_count} values. If such sizes come from the data, pad them to one, or "
            "to a few buckets",
            "Release summary, 20 October 2026: new input shapes compile again, padding or bucketing is the advice",
        )
    ]


def _replacements(report: "OpReport") -> list[Advice]:
    """Only where every operator of the replacement is native by the coverage table in force."""
    rows = coverage.coverage_table().rows
    found = []
    for row in report.sorted_rows():
        replacement = REPLACEMENTS.get(row.op)
        if row.route != "fallback" or row.reason != "no native kernel" or replacement is None:
            continue
        if all(op in rows and rows[op].route == "native" for op in replacement.ops):
            sources = "; ".join(dict.fromkeys(rows[op].source for op in replacement.ops))
            text = f"{row.name} fell back in {plural(row.calls, 'call')}; {replacement.text}"
            found.append(Advice("replacement", (row.name,), text, f"Coverage table {report.coverage}: {sources}"))
    return found


RULES = (
    Rule(
        "dtype",
        _reason("does not take"),
        "{ops}: the kernels refuse a dtype, which the table gives as the reason. Cast the inputs to one that they "
        "take, such as float32, before the call",
        "TorchNeuron snapshot, torch_neuronx/python_ops/base.py: a kernel that refuses its inputs falls back",
    ),
    Rule(
        "float64",
        _route("float64"),
        "{ops} got float64, which the device computes as float32. Cast to float32 yourself: half the memory, the same "
        "precision",
        "Release summary, 20 October 2026: float64 runs as float32, with a warning",
    ),
    Rule(
        "int64",
        lambda report: ["int64"] if report.int64_overflows else [],
        "Values of {ops} tensors went beyond 32 bits. Keep them below 2**31 on the device, which may compute int64 as "
        "int32",
        "TorchNeuron snapshot, torch_neuronx/python_ops/torch_mlir/op_impl.py: int64 is lowered to int32",
    ),
    Rule(
        "random",
        _called("normal_ uniform_ random_ bernoulli_ exponential_ multinomial randperm", "fallback", 1),
        "{ops} draw on the CPU. Make random tensors and initial weights on the CPU, and move them once",
        "TorchNeuron snapshot, torch_neuronx/python_ops: there is no sampling kernel",
    ),
    Rule(
        "item",
        _called("_local_scalar_dense", "native", MANY_CALLS),
        "{ops} (.item(), float(tensor), if tensor:) was called often. Each call waits for the device: read values less "
        "often, or several at once",
        "TorchNeuron snapshot, torch_neuronx/python_ops/torch_mlir/ops: .item() is a synchronising point",
    ),
    Rule(
        "synchronise",
        _called("nonzero masked_select one_hot histc", "native", MANY_CALLS),
        "{ops} were called often, and wait for the device in each call. torch.where() instead of indexing with a mask "
        "keeps the shape, and does not wait",
        "TorchNeuron snapshot, torch_neuronx/python_ops/torch_mlir/ops: nonzero, boolean-mask indexing, masked_select, "
        "one_hot and histc are synchronising points",
    ),
)
