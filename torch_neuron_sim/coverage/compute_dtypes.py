"""Reads the table of dtypes that the device takes and CPU's kernels lack.

Native operators with such a dtype are computed in another one, and their results are cast back. The table is a text
file with columns separated by a tab: ``op``, ``dtypes`` (separated by commas), ``computed_in`` (a dtype), ``keeps``
(arguments that keep their dtype, such as indices, separated by commas), ``results`` (dtypes of results, separated by
commas; empty: that of the operands) and ``when`` (empty: where CPU's kernel raises NotImplementedError; ``always``:
where it raises something else). Lines that start with # are comments; the first other line names the columns. What the
table has no row for is left to CPU's kernel.
"""

from pathlib import Path
from typing import NamedTuple

import torch

from torch_neuron_sim import _C

FILE = Path(__file__).with_suffix(".tsv")
COLUMNS = ("op", "dtypes", "computed_in", "keeps", "results", "when")


class ComputeDtype(NamedTuple):
    op: str  # the dispatcher's full name
    dtypes: tuple[str, ...]
    computed_in: str
    keeps: tuple[str, ...]
    results: tuple[str, ...]
    always: bool

    def line(self) -> str:
        """The row as the file has it."""
        lists = (",".join(each) for each in (self.dtypes, self.keeps, self.results))
        dtypes, keeps, results = lists
        return "\t".join((self.op, dtypes, self.computed_in, keeps, results, "always" * self.always))


def read(path: Path = FILE) -> list[ComputeDtype]:
    """The rows of the table. ValueError for a file with other columns."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    if not lines or tuple(lines[0].split("\t")) != COLUMNS:
        raise ValueError(f"{path}: the first line has to name the columns: {', '.join(COLUMNS)}")
    return [_parse(line.split("\t")) for line in lines[1:]]


def _parse(fields: list[str]) -> ComputeDtype:
    op, dtypes, computed_in, keeps, results, when = fields
    return ComputeDtype(op, _list(dtypes), computed_in, _list(keeps), _list(results), bool(when))


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def apply() -> None:
    """Puts the table in force, without the operators that this torch does not have."""
    known = set(torch._C._dispatch_get_all_op_names())
    _C.set_compute_dtypes(
        [
            (row.op, row.dtypes, row.computed_in, _positions(row), [each or None for each in row.results], row.always)
            for row in read()
            if row.op in known
        ]
    )


def _positions(row: ComputeDtype) -> list[int]:
    if not row.keeps:
        return []
    name, _, overload = row.op.partition(".")
    names = [argument.name for argument in torch._C._get_schema(name, overload).arguments]
    return [names.index(kept) for kept in row.keeps]
