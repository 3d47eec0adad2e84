"""Which shapes multiply compile keys: for each operator, the one dimension that takes most values on its own."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from torch_neuron_sim.report.compilations import CompileKey

SHOWN_VALUES = 8


@dataclass(frozen=True)
class Multiplied:
    """An operator with several compile keys, and what sets them apart."""

    op: str
    keys: int
    calls: int
    input: int | None  # position of the tensor whose dimension varies; None: no dimension varies on its own
    dimension: int | None
    values: tuple[int, ...]  # that the dimension took while all others stayed, ascending, the first SHOWN_VALUES
    value_count: int  # how many there are
    dtypes: int  # distinct combinations of input dtypes
    statics: int  # distinct static arguments

    def __str__(self) -> str:
        parts = []
        if self.dimension is not None:
            shown = ", ".join(map(str, self.values))
            more = f" and {self.value_count - len(self.values)} more" if self.value_count > len(self.values) else ""
            parts.append(
                f"dimension {self.dimension} of input {self.input} took {self.value_count} values ({shown}{more})"
            )
        if self.dtypes > 1:
            parts.append(f"{self.dtypes} combinations of dtypes")
        if self.statics > 1:
            parts.append(f"{self.statics} static arguments")
        return "; ".join(parts) or "several dimensions change together"


def multiplied(keys: Iterable[CompileKey]) -> list[Multiplied]:
    """Operators with more than one key, those with most keys first."""
    by_op: defaultdict[str, list[CompileKey]] = defaultdict(list)
    for key in keys:
        by_op[key.op].append(key)
    found = [_describe(op, chosen) for op, chosen in by_op.items() if len(chosen) > 1]
    return sorted(found, key=lambda each: (-each.keys, -each.calls, each.op))


def _describe(op: str, keys: list[CompileKey]) -> Multiplied:
    place, values = _varying(keys)
    return Multiplied(
        op=op,
        keys=len(keys),
        calls=sum(key.calls for key in keys),
        input=place[0] if place else None,
        dimension=place[1] if place else None,
        values=tuple(values[:SHOWN_VALUES]),
        value_count=len(values),
        dtypes=len({tuple(tensor.dtype for tensor in key.inputs) for key in keys}),
        statics=len({key.static for key in keys}),
    )


def _varying(keys: list[CompileKey]) -> tuple[tuple[int, int] | None, list[int]]:
    """The place (input, dimension) that takes most values while everything else stays, and the values.

    Layers of different widths also give an operator several keys, but there weights or other dimensions change along.
    A length that occurs in several places at once (a square mask, both sides of an addition) is one dimension: places
    of equal size are taken to vary together.
    """
    groups: defaultdict[tuple[tuple[int, int], object], set[int]] = defaultdict(set)
    for key in keys:
        dtypes = tuple(tensor.dtype for tensor in key.inputs)
        for position, tensor in enumerate(key.inputs):
            for dimension, size in enumerate(tensor.shape):
                rest = tuple(tuple(None if other == size else other for other in each.shape) for each in key.inputs)
                groups[(position, dimension), (rest, dtypes, key.static)].add(size)
    if not groups:
        return None, []
    (place, _), values = max(groups.items(), key=lambda group: len(group[1]))
    return (place, sorted(values)) if len(values) > 1 else (None, [])
