"""All that the databases list, as cases: one entry of a database with one dtype."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations as operators_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

import torch_neuron_sim
from harness.checks import Checks
from harness.exceptions import Exceptions
from harness.modules import Module
from harness.operators import Operator
from harness.optimizers import Optimizer
from harness.record import Record

OPTIMIZER_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DATABASES = ("operators", "foreach", "modules", "optimizers")


@dataclass(frozen=True, eq=False)
class Entry:
    """One OpInfo, ForeachFuncInfo, ModuleInfo or OptimizerInfo."""

    database: str
    name: str
    variant: str
    dtypes: tuple[str, ...]
    info: Any

    @property
    def key(self) -> str:
        return ".".join(part for part in (self.database, self.name, self.variant) if part)


@dataclass(frozen=True)
class Case:
    entry: Entry
    dtype: str
    limit: int | None  # of samples
    with_errors: bool

    def run(self) -> Record:
        """Runs the checks in this process; the first tensor on the device starts the device."""
        kind: dict[str, Callable[..., Checks]] = {
            "operators": Operator,
            "foreach": Operator,
            "modules": Module,
            "optimizers": Optimizer,
        }
        exceptions = Exceptions.load().of(self.entry.key, self.dtype)
        torch_neuron_sim.fallback_policy("silent")
        torch_neuron_sim.float64_policy("exact")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checks = kind[self.entry.database](self.entry.info, getattr(torch, self.dtype), self.limit, exceptions)
            checks.run(self.with_errors)
        return checks.record


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def foreach_infos() -> Iterator[Any]:
    for name in ("unary", "binary", "pointwise", "reduce", "other"):
        yield from getattr(operators_db, f"foreach_{name}_op_db")


def _entry(database: str, info: Any) -> Entry:
    if database == "optimizers":
        dtypes: Sequence[torch.dtype] = OPTIMIZER_DTYPES
    else:
        dtypes = info.supported_dtypes("cpu")
    variant = getattr(info, "variant_test_name", "")
    return Entry(database, info.name, variant, tuple(sorted(map(_name, dtypes))), info)


@cache
def entries() -> tuple[Entry, ...]:
    sources = {
        "operators": operators_db.op_db,
        "foreach": foreach_infos(),
        "modules": module_db,
        "optimizers": optim_db,
    }
    return tuple(_entry(database, info) for database in DATABASES for info in sources[database])


def all_cases(limit: int | None = None, dtypes: Sequence[str] = ()) -> dict[Entry, list[Case]]:
    """Every entry with every dtype that CPU supports, or with those of ``dtypes``."""
    return {
        entry: [
            Case(entry, dtype, limit, with_errors=index == 0)
            for index, dtype in enumerate(d for d in entry.dtypes if not dtypes or d in dtypes)
        ]
        for entry in entries()
    }


def expected_to_fail() -> dict[Entry, list[Case]]:
    """What an exception expects to fail, with all samples."""
    exceptions = Exceptions.load()
    return {
        entry: [case for case in cases if exceptions.of(entry.key, case.dtype).expected_to_fail()]
        for entry, cases in all_cases().items()
    }


def stratified(limit: int) -> dict[Entry, list[Case]]:
    """Every entry with one dtype, chosen by a hash of its name: half of them float32, where there is float32."""
    chosen: dict[Entry, list[Case]] = {}
    for entry in entries():
        if not entry.dtypes:
            continue
        number = zlib.crc32(entry.key.encode())
        dtype = entry.dtypes[number // 2 % len(entry.dtypes)]
        if number % 2 and "float32" in entry.dtypes:
            dtype = "float32"
        # Samples of foreach are lists of twenty tensors.
        chosen[entry] = [Case(entry, dtype, 1 if entry.database == "foreach" else limit, with_errors=True)]
    return chosen
