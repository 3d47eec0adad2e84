"""Reads and checks coverage tables.

A table is a text file with columns separated by a tab: ``op``, ``route`` (native, fallback or unsupported),
``recorded_as`` (empty: as op), ``refuses`` (dtypes, separated by commas) and ``source``. Lines that start with # are
comments; the first other line names the columns. An operator of aten without a row falls back.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

DEFAULT = "snapshot-2026-04"
ALL = "all"

ROUTES = ("native", "fallback", "unsupported")
COLUMNS = ("op", "route", "recorded_as", "refuses", "source")

_SHIPPED = Path(__file__).parent
_OTHER_TABLES = ("compute_dtypes", "cost_classes")


class Row(NamedTuple):
    op: str  # the dispatcher's full name
    route: str  # one of ROUTES
    recorded_as: str  # the name that op tracking uses
    refuses: tuple[str, ...]  # dtypes with which a native op falls back, e.g. "int32"
    source: str  # where the fact comes from


@dataclass(frozen=True)
class Table:
    name: str
    rows: dict[str, Row]
    default_route: str  # of an aten operator without a row
    unknown: tuple[str, ...] = field(default=())  # operators of a shipped table that this torch does not have


def names() -> list[str]:
    """The tables that come with the package."""
    return [ALL, *sorted(path.stem for path in _SHIPPED.glob("*.tsv") if path.stem not in _OTHER_TABLES)]


def load(name: str | os.PathLike[str]) -> Table:
    """Reads a table by name or path. ValueError for a name that is neither, and for a bad line, with file and line."""
    text = os.fspath(name)
    if text == ALL:
        return Table(ALL, {}, default_route="native")
    if text in names():
        return _read(text, _SHIPPED / f"{text}.tsv", shipped=True)
    path = Path(text)
    if path.is_file():
        return _read(text, path, shipped=False)
    raise ValueError(f"there is no coverage table '{text}'. Legal: {', '.join(names())}, or the path of a file")


def _read(name: str, path: Path, *, shipped: bool) -> Table:
    known = set(torch._C._dispatch_get_all_op_names())
    rows: dict[str, Row] = {}
    unknown: list[str] = []
    for number, fields in _fields(path):
        row = _parse(fields, f"{path}:{number}")
        if row.op not in known:
            if not shipped:
                raise ValueError(
                    f"{path}:{number}: torch {torch.__version__} has no operator '{row.op}' (write the dispatcher's "
                    "full name, e.g. aten::add.Tensor; load the library that defines it first)"
                )
            unknown.append(row.op)
            continue
        if row.op in rows:
            raise ValueError(f"{path}:{number}: a second row for '{row.op}'")
        rows[row.op] = row
    return Table(name, rows, default_route="fallback", unknown=tuple(unknown))


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold a row, split, with their numbers."""
    header_seen = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise ValueError(f"{path}:{number}: {len(fields)} columns separated by tabs; expected {', '.join(COLUMNS)}")
        if header_seen:
            yield number, fields
        elif tuple(fields) == COLUMNS:
            header_seen = True
        else:
            raise ValueError(f"{path}:{number}: the first line has to name the columns: {', '.join(COLUMNS)}")
    if not header_seen:
        raise ValueError(f"{path}:1: no line names the columns: {', '.join(COLUMNS)}")


def _parse(fields: list[str], where: str) -> Row:
    op, route, recorded_as, refuses, source = fields
    if route not in ROUTES:
        raise ValueError(f"{where}: unknown route '{route}' of '{op}'. Legal: {', '.join(ROUTES)}")
    return Row(op, route, recorded_as or op, _dtypes(refuses, where) if refuses else (), source)


def _dtypes(text: str, where: str) -> tuple[str, ...]:
    dtypes = tuple(part.strip() for part in text.split(","))
    for dtype in dtypes:
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise ValueError(f"{where}: unknown dtype '{dtype}' in refuses (write names of torch, e.g. int32)")
    # One spelling for each: torch.half is torch.float16.
    return tuple(str(getattr(torch, dtype)).removeprefix("torch.") for dtype in dtypes)
