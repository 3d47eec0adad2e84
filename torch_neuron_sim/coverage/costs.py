"""Reads the table that gives operators their cost class (``cost_classes.tsv``), and hands it to the cost model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from torch_neuron_sim import _C

COLUMNS = ("op", "class", "arguments", "attributes", "source")
PATH = Path(__file__).parent / "cost_classes.tsv"

_BY_ARGUMENT = ("dims", "count", "transposed")


class CostRow(NamedTuple):
    op: str  # the dispatcher's full name, or without overload
    cost_class: str
    arguments: tuple[str, ...]  # in the order of the class's roles; empty: all tensors that are read
    attributes: Mapping[str, float]  # passes and flags
    by_argument: Mapping[str, str]  # dims, count, transposed: the argument that gives them
    source: str


def load() -> dict[str, CostRow]:
    """The rows of the shipped table, by ``op``."""
    lines = (line for line in PATH.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    assert tuple(next(lines).split("\t")) == COLUMNS
    return {row.op: row for row in map(_parse, lines)}


def _parse(line: str) -> CostRow:
    op, cost_class, arguments, attributes, source = line.split("\t")
    pairs = [each.partition("=") for each in attributes.split()]
    return CostRow(
        op,
        cost_class,
        tuple(arguments.split()),
        {name: float(value or 1) for name, _, value in pairs if name not in _BY_ARGUMENT},
        {name: value for name, _, value in pairs if name in _BY_ARGUMENT},
        source,
    )


def row_of(op: str, rows: Mapping[str, CostRow]) -> CostRow | None:
    """The row for a full name: its own, its base name's, or that of the form that is not in place."""
    base = op.split(".")[0]
    return rows.get(op) or rows.get(base) or rows.get(base.removesuffix("_"))


def install(ops: Iterable[str]) -> None:
    """Gives the cost model a rule for each of these operators that the table knows and this torch has."""
    rows = load()
    found = ((op, row_of(op, rows)) for op in sorted(set(ops)))
    _C.set_cost_rules([_plain(op, row) for op, row in found if row is not None])


def _plain(op: str, row: CostRow) -> tuple[str, str, Mapping[str, float], tuple[str, ...], str, str, str]:
    dims, count, transposed = (row.by_argument.get(key, "") for key in _BY_ARGUMENT)
    return op, row.cost_class, row.attributes, row.arguments, dims, count, transposed
