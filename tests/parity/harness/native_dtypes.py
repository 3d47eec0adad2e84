"""Calls of native operators with each dtype that the device has, and the refusals that are meant."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import torch

from harness.call import Call, overload

# float64 has a rule of its own.
DTYPES = {
    name: getattr(torch, name)
    for name in (
        "float32",
        "float16",
        "bfloat16",
        "float8_e5m2",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    )
}
FILE = Path(__file__).parents[1] / "refused_dtypes.toml"


def is_floating(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """By way of int64, as a negative float has no one value as uint8."""
    return tensor.to(torch.int64).to(dtype) if dtype == torch.uint8 else tensor.to(dtype)


def _tensors(call: Call) -> list[tuple[str, torch.Tensor]]:
    return [(name, leaf) for name, leaf in call.leaves() if isinstance(leaf, torch.Tensor)]


def kept_arguments(calls: Sequence[Call]) -> tuple[str, ...]:
    """Arguments that are no numbers to compute with, as indices: never floating, in calls with floating tensors."""
    floating, other = set(), []
    for call in calls:
        found = _tensors(call)
        if not any(is_floating(t.dtype) for _, t in found):
            continue
        for name, tensor in found:
            if is_floating(tensor.dtype):
                floating.add(name)
            elif name not in other:
                other.append(name)
    return tuple(name for name in other if name not in floating)


def _main_dtype(call: Call, keeps: Sequence[str]) -> torch.dtype | None:
    """The dtype that the call computes in."""
    dtypes = {t.dtype for name, t in _tensors(call) if name not in keeps}
    dtypes |= {leaf for _, leaf in call.leaves() if isinstance(leaf, torch.dtype)}
    return next((dtype for dtype in (torch.float32, torch.int64) if dtype in dtypes), None)


def in_dtype(call: Call, source: torch.dtype, target: torch.dtype, keeps: Sequence[str]) -> Call:
    def change(name: str, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype == source and name not in keeps:
            return cast(leaf, target)
        return target if leaf is source else leaf

    return call.map(change)


def calls_with(dtype: torch.dtype, calls: Sequence[Call]) -> Iterator[Call]:
    """The calls, with floating tensors (for a whole dtype also integers) of that dtype."""
    keeps = kept_arguments(calls)
    mains = [_main_dtype(call, keeps) for call in calls]
    for call, main in zip(calls, mains, strict=True):
        if main is None or (is_floating(dtype) and not is_floating(main) and torch.float32 in mains):
            continue
        yield in_dtype(call, main, dtype, keeps)


def is_of_one_dtype(call: Call, keeps: Sequence[str]) -> bool:
    """Whether all that the call computes with is."""
    left_out = {*keeps, *(a.name for a in overload(call.op)._schema.arguments if a.is_write)}
    return len({tensor.dtype for name, tensor in _tensors(call) if name not in left_out}) == 1


@dataclass(frozen=True)
class Refusal:
    ops: tuple[str, ...]
    dtypes: tuple[str, ...] | str
    raises: str
    text: str
    reason: str

    def covers(self, op: str, dtype: str, error: BaseException) -> bool:
        return (
            any(fnmatchcase(op, pattern) for pattern in self.ops)
            and (self.dtypes == "all" or dtype in self.dtypes)
            and type(error).__name__ == self.raises
            and re.search(self.text, str(error)) is not None
        )


@cache
def refusals() -> tuple[Refusal, ...]:
    def made(entry: dict[str, Any]) -> Refusal:
        return Refusal(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})

    return tuple(made(entry) for entry in tomllib.loads(FILE.read_text())["refusal"])


def refusal(op: str, dtype: str, error: BaseException) -> Refusal | None:
    return next((each for each in refusals() if each.covers(op, dtype, error)), None)
