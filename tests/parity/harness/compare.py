"""Runs one function on copies of one set of arguments on both devices, and compares all that can be observed."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten

from harness.transfer import DEVICE, Transfer, is_dense, on_device, tensors

# Where the CPU does not repeat itself bit for bit, relative to the largest value: a few units in the last place.
_LOOSE = {torch.float16: 1e-2, torch.bfloat16: 5e-2, torch.float32: 1e-5, torch.complex64: 1e-5, torch.complex32: 1e-2}


class Mismatch(AssertionError):
    """The device and the CPU differ."""


@dataclass
class Run:
    """What a call left behind."""

    arguments: Any
    result: Any = None
    error: BaseException | None = None
    warnings: list[str] = field(default_factory=list)


def run(function: Callable[..., Any], arguments: Any, device: str) -> Run:
    made = Run(Transfer(device)(arguments))
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made.result = function(*made.arguments)
        except Exception as error:  # whatever the CPU raises, the device has to raise
            made.error = error
    made.warnings = sorted({str(warning.message) for warning in caught})
    return made


def same(function: Callable[..., Any], arguments: Any, values: bool = True, warned: bool = False) -> Run:
    """Runs twice on the CPU and once on the device; Mismatch unless all agrees. Returns the run on the device.

    ``values=False`` compares all but the values; ``warned=True`` compares the warnings, too.
    """
    expected, again = run(function, arguments, "cpu"), run(function, arguments, "cpu")
    found = run(function, arguments, DEVICE)
    if not (is_dense(expected.arguments) and is_dense(expected.result)):
        if expected.error is None:
            refuses_in_one_line(found.error)
        return found
    _same_error(found, expected)
    moved = any(on_device(leaf) for leaf in tree_flatten(arguments)[0])
    for part in ("result", "arguments"):
        trees = (getattr(each, part) for each in (found, expected, again))
        _same_tree(*trees, part, values, DEVICE if moved and part == "result" else None)
    ours, theirs = (_sharing((each.result, each.arguments)) for each in (found, expected))
    if ours != theirs:
        raise Mismatch(f"storages are shared differently: neuron {ours}, CPU {theirs}")
    if warned and found.warnings != expected.warnings:
        raise Mismatch(f"warnings: neuron {found.warnings}, CPU {expected.warnings}")
    return found


def refuses_in_one_line(error: BaseException | None) -> None:
    """Other layouts than dense ones are refused with one line that says what to do."""
    if not isinstance(error, NotImplementedError) or "\n" in str(error).strip():
        raise Mismatch(f"another layout than a dense one: wanted NotImplementedError in one line, found {error!r}")


def _same_error(found: Run, expected: Run) -> None:
    if type(found.error) is not type(expected.error):
        raise Mismatch(f"error: neuron {found.error!r:.300}, CPU {expected.error!r:.300}")


def _sharing(tree: Any) -> list[int]:
    """For each tensor, the index of the first one with the same storage; tensors without memory share with none."""
    seen: dict[int, int] = {}
    return [
        seen.setdefault(t.untyped_storage()._cdata, index) if t.layout == torch.strided and t.numel() else index
        for index, t in enumerate(tensors(tree))
    ]


def _same_tree(found: Any, expected: Any, again: Any, what: str, values: bool, device: str | None) -> None:
    ours, structure = tree_flatten(found)
    theirs, expected_structure = tree_flatten(expected)
    if structure != expected_structure:
        raise Mismatch(f"{what}: structure {structure}, CPU {expected_structure}")
    for index, (one, other, repeat) in enumerate(zip(ours, theirs, tree_flatten(again)[0], strict=True)):
        name = f"{what}[{index}]"
        if isinstance(other, torch.Tensor):
            _same_tensor(one, other, repeat, name, values, device)
        elif type(one) is not type(other):
            raise Mismatch(f"{name}: {type(one)}, CPU {type(other)}")
        elif values and isinstance(other, bool | int | float | complex | torch.Size | torch.dtype):
            _same_number(one, other, name)


def _same_number(one: Any, other: Any, name: str) -> None:
    both_nan = one != one and other != other
    if one != other and not both_nan:
        raise Mismatch(f"{name}: {one}, CPU {other}")


def _facts(tensor: torch.Tensor) -> dict[str, Any]:
    return {
        "type": type(tensor),
        "dtype": tensor.dtype,
        "shape": tuple(tensor.shape),
        "strides": tensor.stride(),
        "offset": tensor.storage_offset(),
        "conj": tensor.is_conj(),
        "neg": tensor.is_neg(),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "view": tensor._is_view(),
    }


def _same_tensor(
    one: torch.Tensor, other: torch.Tensor, repeat: torch.Tensor, name: str, values: bool, device: str | None
) -> None:
    if device is not None and one.device.type != device:
        raise Mismatch(f"{name} is on {one.device}")
    found, wanted = _facts(one), _facts(other)
    different = {key: (found[key], wanted[key]) for key in wanted if found[key] != wanted[key]}
    if different:
        raise Mismatch(f"{name}: (neuron, CPU) differ in {different}")
    if not values or other.device.type == "meta":
        return
    bits, expected, repeated = (_dense(t) for t in (one, other, repeat))
    if torch.equal(bits.view(torch.uint8), expected.view(torch.uint8)):
        return
    repeats = torch.equal(expected.view(torch.uint8), repeated.view(torch.uint8))
    bound = 0.0 if repeats or expected.dtype not in _LOOSE else _LOOSE[expected.dtype]
    try:
        torch.testing.assert_close(bits, expected, rtol=bound, atol=bound, equal_nan=True)
    except (AssertionError, RuntimeError) as error:
        text = " ".join(str(error).split())
        raise Mismatch(f"{name} ({'CPU repeats itself' if repeats else 'CPU does not repeat itself'}): {text}") from None
    if repeats:
        raise Mismatch(f"{name}: equal values with different bits (signed zeros or kinds of nan)")


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten().clone()
