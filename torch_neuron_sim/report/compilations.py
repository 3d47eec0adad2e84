"""Compile keys: for which operators, shapes, dtypes and static arguments the device compiles a program."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch_neuron_sim import _C
from torch_neuron_sim.report.rows import Place


@dataclass(frozen=True)
class TensorKey:
    """An input as far as it decides what is compiled."""

    shape: tuple[int, ...]
    dtype: str  # e.g. float32


@dataclass(frozen=True)
class CompileKey:
    """A program that the device compiles: an operator for certain shapes, dtypes and static arguments."""

    op: str  # the dispatcher's full name
    inputs: tuple[TensorKey, ...]
    static: str  # arguments that count by value
    calls: int  # with this key, the first included
    compiled: bool  # first used in the period that the report covers
    persistent: bool  # found in the cache on disk, so loaded instead of compiled
    first_use: int  # position in the order of first uses, together with operators
    first_ns: int  # steady clock
    site: Place | None  # of the first call

    @property
    def identity(self) -> tuple[str, tuple[TensorKey, ...], str]:
        return self.op, self.inputs, self.static


@dataclass(frozen=True)
class Compilations:
    """What a period used. Counts beyond ``keys`` grow with every call, keys only with new ones."""

    keys: list[CompileKey] = field(default_factory=list)  # in order of first use
    compiled: int = 0  # compilations; more than new keys when the cache evicts, or is off
    loaded: int = 0  # from the cache on disk
    evictions: int = 0
    dropped: int = 0  # keys that were not kept because there are too many

    @property
    def distinct(self) -> int:
        """How many keys there are, those that were not kept included."""
        return len(self.keys) + self.dropped

    def minus(self, earlier: "Compilations") -> "Compilations":
        """What was counted since ``earlier``. A counter that became smaller was cleared in between."""
        before = {key.identity: key for key in earlier.keys}
        keys = []
        for key in self.keys:
            known = before.get(key.identity)
            if known is None or known.first_use != key.first_use:
                keys.append(key)
            elif key.calls > known.calls:
                keys.append(replace(key, calls=key.calls - known.calls, compiled=False))
        return Compilations(
            keys,
            _gain(self.compiled, earlier.compiled),
            _gain(self.loaded, earlier.loaded),
            _gain(self.evictions, earlier.evictions),
            _gain(self.dropped, earlier.dropped),
        )

    def plus(self, later: "Compilations") -> "Compilations":
        """Two periods together."""
        keys = {key.identity: key for key in self.keys}
        for key in later.keys:
            first = keys.get(key.identity)
            if first is not None:
                key = replace(first, calls=first.calls + key.calls, compiled=first.compiled or key.compiled)
            keys[key.identity] = key
        return Compilations(
            list(keys.values()),
            self.compiled + later.compiled,
            self.loaded + later.loaded,
            self.evictions + later.evictions,
            self.dropped + later.dropped,
        )


def read() -> Compilations:
    """What was compiled since the compile cache was cleared."""
    return from_rows(_C.compile_cache_rows(), _C.compile_cache_stats())


def from_rows(rows: Iterable[Mapping[str, Any]], stats: Mapping[str, int]) -> Compilations:
    keys = [
        CompileKey(
            op=row["op"],
            inputs=tuple(TensorKey(tuple(shape), dtype) for shape, dtype in row["inputs"]),
            static=row["static"],
            calls=row["hits"] + 1,
            compiled=True,
            persistent=row["persistent"],
            first_use=row["first_use"],
            first_ns=row["first_ns"],
            site=None if row["site"] is None else Place(*row["site"]),
        )
        for row in rows
    ]
    keys.sort(key=lambda key: key.first_use)
    return Compilations(
        keys, stats["total_compilations"], stats["persistent_hits"], stats["evictions"], stats["dropped"]
    )


def _gain(later: int, earlier: int) -> int:
    return later - earlier if later >= earlier else later
