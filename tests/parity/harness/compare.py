"""Runs one function on copies of one set of arguments on both devices, and compares all that can be observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from harness import relaxations
from harness.record import Mismatch, Sample
from harness.runs import Run, operator_dtypes, run
from harness.transfer import DEVICE, Transfer, is_dense, on_device, tensors
from harness.trees import flatten, leaves


class DifferentBits(Mismatch):
    """Only values differ."""


@dataclass(frozen=True)
class Rules:
    """What has to agree."""

    values: bool = True  # False: all but values
    warned: bool = False  # also the warnings on resized results
    places: bool = True  # results are on the device
    written: int = 0  # so many of the last arguments may be left written to after an error
    differentiated: bool = False  # results are derivatives of derivatives, or tangents
    rounding: str = ""  # why values may be rounded in other places than on the CPU


@dataclass
class _Comparison:
    rules: Rules
    device: str | None  # where results have to be
    again: Run | None = None  # a second run on the CPU
    rounding: str = ""  # why values may be rounded in other places
    relaxed: set[str] = field(default_factory=set)


def same(function: Callable[..., Any], arguments: Any, rules: Rules, sample: Sample) -> Run:
    """Runs on the CPU and on the device; Mismatch unless all agrees. Returns the run on the device.

    Values are equal bits. Where they are not, the CPU runs again; what it does not repeat is equal but for rounding.
    """
    _fill_freed_memory(77)
    expected = run(function, arguments, "cpu")
    found = run(function, arguments, DEVICE)
    sample.ran(found.operators)
    if not (is_dense(expected.arguments) and is_dense(expected.result)):
        refuses_in_one_line(found.error)
        sample.relax(relaxations.OTHER_LAYOUT)
        return found
    if relaxations.fills_a_gap(found.error, expected.error):
        sample.relax(relaxations.LACKING_KERNEL)
        return found
    place = _place(leaves(arguments)) if rules.places else None
    try:
        _same_runs(found, expected, arguments, _Comparison(rules, place))
    except Mismatch as difference:
        on_cpu = () if rules.rounding else tuple(operator_dtypes(function, arguments, "cpu"))
        by_math = relaxations.as_the_device_attends(function, found.operators, on_cpu)
        if by_math is None and not isinstance(difference, DifferentBits):
            raise
        if by_math is not None:
            expected = run(by_math, arguments, "cpu")
        _fill_freed_memory(0)
        again = run(by_math or function, arguments, "cpu")
        reason = rules.rounding or relaxations.rounding(found.operators, on_cpu, differentiated=rules.differentiated)
        comparison = _Comparison(rules, place, again, reason)
        _same_runs(found, expected, arguments, comparison)
        for each in comparison.relaxed | ({relaxations.MATH_ATTENTION} if by_math is not None else set()):
            sample.relax(each)
    if not rules.values and found.error is None:
        sample.relax(relaxations.NO_VALUES)
    return found


def _same_runs(found: Run, expected: Run, arguments: Any, comparison: _Comparison) -> None:
    """Compares errors, or what was returned and what was left in the arguments."""
    if type(found.error) is not type(expected.error):
        raise Mismatch(f"error: neuron {found.error!r:.300}, CPU {expected.error!r:.300}")
    if found.error is not None:
        _same_after_error(found, expected, arguments, comparison.rules)
        return
    again = comparison.again
    _same_tree(found.result, expected.result, again and again.result, "result", comparison)
    in_arguments = replace(comparison, device=None)  # which shares what it relaxed
    _same_tree(found.arguments, expected.arguments, again and again.arguments, "arguments", in_arguments)
    ours, theirs = (_sharing((each.result, each.arguments)) for each in (found, expected))
    if ours != theirs:
        raise Mismatch(f"storages are shared differently: neuron {ours}, CPU {theirs}")
    # Deprecations are told once in a process.
    said, wanted = ([text for text in each.warnings if "was resized" in text] for each in (found, expected))
    if comparison.rules.warned and said != wanted:
        raise Mismatch(f"warnings: neuron {said}, CPU {wanted}")


def same_as_copied(function: Callable[..., Any], altered: Any, made: Any, sample: Sample) -> bool:
    """Whether the device gives for ``altered`` arguments what the CPU gives for equal ones that are plain tensors.

    False if the CPU gives that for both.
    """
    wrong, found = run(function, altered, "cpu"), run(function, altered, DEVICE)
    right, again = run(function, made, "cpu"), run(function, made, "cpu")
    try:
        _same_tree(wrong.result, right.result, again.result, "result", _Comparison(Rules(), None, again, "rounding"))
        return False
    except Mismatch:
        reason = relaxations.rounding(found.operators, operator_dtypes(function, made, "cpu"), differentiated=False)
        comparison = _Comparison(Rules(), None, again, reason)
        _same_tree(found.result, right.result, again.result, "result", comparison)
        for each in comparison.relaxed | {relaxations.IGNORED_NEG}:
            sample.relax(each)
        return True


def refuses_in_one_line(error: BaseException | None) -> None:
    """Other layouts than dense ones are refused with one line that says what to do."""
    if not isinstance(error, NotImplementedError) or "\n" in str(error).strip():
        raise Mismatch(f"another layout than a dense one: wanted NotImplementedError in one line, found {error!r}")


def _fill_freed_memory(byte: int) -> None:
    """A kernel that reads what it did not write does not repeat itself after another filling."""
    kept = [torch.full((1 << size,), byte, dtype=torch.uint8) for size in range(4, 13) for _ in range(2)]
    kept.clear()


def _place(found: list[Any]) -> str | None:
    """Where results have to be: the device that the arguments name, else where their tensors are."""
    if any(leaf in ("cpu", torch.device("cpu")) for leaf in found if isinstance(leaf, str | torch.device)):
        return "cpu"
    return DEVICE if any(on_device(leaf) for leaf in found) else None


def _same_after_error(found: Run, expected: Run, arguments: Any, rules: Rules) -> None:
    """On an error the device changes nothing, whereas the CPU may have changed arguments by then."""
    kept = len(arguments) - rules.written
    comparison = _Comparison(rules, None)
    try:
        untouched = Transfer("cpu")(arguments)[:kept]
        _same_tree(found.arguments[:kept], untouched, None, "arguments after an error", comparison)
    except Mismatch:
        after = expected.arguments[:kept]
        _same_tree(found.arguments[:kept], after, None, "arguments after an error", comparison)


def _sharing(tree: Any) -> list[int]:
    """For each tensor, the index of the first one with the same storage; tensors without memory share with none."""
    seen: dict[int, int] = {}
    return [
        seen.setdefault(t.untyped_storage()._cdata, index) if t.layout == torch.strided and t.numel() else index
        for index, t in enumerate(tensors(tree))
    ]


def _same_tree(found: Any, expected: Any, again: Any, what: str, comparison: _Comparison) -> None:
    ours, structure = flatten(found)
    theirs, expected_structure = flatten(expected)
    if structure != expected_structure:
        raise Mismatch(f"{what}: structure {structure}, CPU {expected_structure}")
    repeated = leaves(again) if comparison.again is not None else [None] * len(theirs)
    for index, (one, other, repeat) in enumerate(zip(ours, theirs, repeated, strict=True)):
        name = f"{what}[{index}]"
        if isinstance(other, torch.Tensor):
            _same_tensor(one, other, repeat, name, comparison)
        elif type(one) is not type(other):
            raise Mismatch(f"{name}: {type(one)}, CPU {type(other)}")
        elif comparison.rules.values and isinstance(other, bool | int | float | complex | torch.Size | torch.dtype):
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
    }


def _same_tensor(
    one: torch.Tensor, other: torch.Tensor, repeat: torch.Tensor | None, name: str, comparison: _Comparison
) -> None:
    if comparison.device is not None and one.device.type != comparison.device:
        raise Mismatch(f"{name} is on {one.device}")
    found, wanted = _facts(one), _facts(other)
    different = {key: (found[key], wanted[key]) for key in wanted if found[key] != wanted[key]}
    if different:
        raise Mismatch(f"{name}: (neuron, CPU) differ in {different}")
    if not comparison.rules.values or other.device.type == "meta":
        return
    bits, expected = _bits(one), _bits(other)
    if torch.equal(bits.view(torch.uint8), expected.view(torch.uint8)):
        return
    repeats = repeat is not None and torch.equal(_bits(repeat).view(torch.uint8), expected.view(torch.uint8))
    if repeat is not None and relaxations.close(bits, expected):
        reason = comparison.rounding if repeats else relaxations.UNREPEATABLE
        if reason:
            comparison.relaxed.add(reason)
            return
    try:
        torch.testing.assert_close(bits, expected, rtol=0, atol=0, equal_nan=True)
        text = "equal values with different bits (signed zeros or kinds of nan)"
    except (AssertionError, RuntimeError) as error:
        text = " ".join(str(error).split())
    raise DifferentBits(f"{name} ({'CPU repeats itself' if repeats else 'CPU does not repeat itself'}): {text}")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in order as they are in memory, that is without regard to the conj and neg bits, without gaps."""
    plain = tensor.detach()
    plain = torch._neg_view(plain) if plain.is_neg() else plain
    plain = torch._conj(plain) if plain.is_conj() else plain
    return torch.empty(plain.numel(), dtype=plain.dtype).copy_(plain.cpu().flatten())
