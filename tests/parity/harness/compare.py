"""Runs one function on copies of one set of arguments on both devices, and compares all that can be observed."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from harness.transfer import DEVICE, Transfer, is_dense, on_device, tensors

# Where the CPU does not repeat itself bit for bit, relative to the largest value: a few units in the last place.
_LOOSE = {
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
    torch.float32: 1e-5,
    torch.float64: 1e-12,
    torch.complex32: 1e-2,
    torch.complex64: 1e-5,
    torch.complex128: 1e-12,
}


class Mismatch(AssertionError):
    """The device and the CPU differ."""


class DifferentBits(Mismatch):
    """Only values differ."""

    def __init__(self, text: str, close: bool) -> None:
        super().__init__(text)
        self.close = close  # equal but for rounding


# Where one device runs one kernel for what the other composes of several, values are rounded in other places. These
# operators, seen in the ledger or on the CPU, tell that this was so.
OTHER_ALGORITHMS = {
    "aten::_thnn_fused_lstm_cell": "PyTorch asks every device but the CPU for fused cells",
    "aten::_thnn_fused_lstm_cell_backward_impl": "PyTorch asks every device but the CPU for fused cells",
    "aten::_thnn_fused_gru_cell": "PyTorch asks every device but the CPU for fused cells",
    "aten::_thnn_fused_gru_cell_backward": "PyTorch asks every device but the CPU for fused cells",
    "aten::_fused_rms_norm": "the CPU composes it",
    "aten::_fused_rms_norm_backward": "the CPU composes it",
    "aten::linear_backward": "the CPU composes it",
    "torch_nn::_linear_cross_entropy_batch_chunked": "PyTorch accumulates by a table of devices",
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction": "PyTorch accumulates by a table of devices",
    "aten::_scaled_dot_product_fused_attention_overrideable": "the device's limits choose the form of attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "the device's limits choose the form of attention",
}


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


def _fill_freed_memory(byte: int) -> None:
    """A kernel that reads what it did not write does not repeat itself after another filling."""
    kept = [torch.full((1 << size,), byte, dtype=torch.uint8) for size in range(4, 13) for _ in range(4)]
    kept.clear()


@dataclass(frozen=True)
class Rules:
    """What has to agree."""

    values: bool = True  # False: all but values
    exact: bool = True  # False: values but for rounding, and any strides
    warned: bool = False  # also the warnings on resized results
    places: bool = True  # results are on the device
    written: int = 0  # so many of the last arguments may be left written to after an error


def same(function: Callable[..., Any], arguments: Any, rules: Rules = Rules()) -> Run:
    """Runs twice on the CPU and once on the device; Mismatch unless all agrees. Returns the run on the device."""
    _fill_freed_memory(77)
    expected = run(function, arguments, "cpu")
    _fill_freed_memory(0)
    again = run(function, arguments, "cpu")
    found = run(function, arguments, DEVICE)
    if not (is_dense(expected.arguments) and is_dense(expected.result)):
        if expected.error is None:
            refuses_in_one_line(found.error)
        return found
    if not rules.exact and expected.error is not None and "is not implemented" in str(expected.error):
        return found
    if type(found.error) is not type(expected.error):
        raise Mismatch(f"error: neuron {found.error!r:.300}, CPU {expected.error!r:.300}")
    if found.error is not None:
        _same_after_error(found, expected, arguments, rules)
        return found
    try:
        same_results(found, expected, again, arguments, rules)
    except DifferentBits as error:
        if not error.close or not other_algorithm(function, arguments):
            raise
    ours, theirs = (_sharing((each.result, each.arguments)) for each in (found, expected))
    if ours != theirs:
        raise Mismatch(f"storages are shared differently: neuron {ours}, CPU {theirs}")
    # Deprecations are told once in a process.
    said, wanted = ([text for text in each.warnings if "was resized" in text] for each in (found, expected))
    if rules.warned and said != wanted:
        raise Mismatch(f"warnings: neuron {said}, CPU {wanted}")
    return found


def _place(leaves: list[Any]) -> str | None:
    """Where results have to be: the device that the arguments name, else where their tensors are."""
    if any(leaf in ("cpu", torch.device("cpu")) for leaf in leaves if isinstance(leaf, str | torch.device)):
        return "cpu"
    return DEVICE if any(on_device(leaf) for leaf in leaves) else None


def same_results(found: Run, expected: Run, again: Run, arguments: Any, rules: Rules) -> None:
    """Compares what runs returned and what they left in their arguments."""
    place = _place(tree_flatten(arguments)[0]) if rules.places else None
    _same_tree(found.result, expected.result, again.result, "result", rules, place)
    _same_tree(found.arguments, expected.arguments, again.arguments, "arguments", rules, None)


class _Operators(TorchDispatchMode):
    """Collects the names of the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


def other_algorithm(function: Callable[..., Any], arguments: Any) -> str:
    """Why values may be rounded in other places than on the CPU; empty if they may not."""
    names: set[str] = set()
    for device in ("cpu", DEVICE):
        with _Operators() as seen:
            run(function, arguments, device)
        names |= seen.names
    return next((OTHER_ALGORITHMS[name] for name in sorted(names) if name in OTHER_ALGORITHMS), "")


def refuses_in_one_line(error: BaseException | None) -> None:
    """Other layouts than dense ones are refused with one line that says what to do."""
    if not isinstance(error, NotImplementedError) or "\n" in str(error).strip():
        raise Mismatch(f"another layout than a dense one: wanted NotImplementedError in one line, found {error!r}")


def _same_after_error(found: Run, expected: Run, arguments: Any, rules: Rules) -> None:
    """On an error the device changes nothing, whereas the CPU may have changed arguments by then."""
    kept = len(arguments) - rules.written
    untouched = Transfer("cpu")(arguments)[:kept]
    try:
        _same_tree(found.arguments[:kept], untouched, untouched, "arguments after an error", rules, None)
    except Mismatch:
        after = expected.arguments[:kept]
        _same_tree(found.arguments[:kept], after, after, "arguments after an error", rules, None)


def _sharing(tree: Any) -> list[int]:
    """For each tensor, the index of the first one with the same storage; tensors without memory share with none."""
    seen: dict[int, int] = {}
    return [
        seen.setdefault(t.untyped_storage()._cdata, index) if t.layout == torch.strided and t.numel() else index
        for index, t in enumerate(tensors(tree))
    ]


def _same_tree(found: Any, expected: Any, again: Any, what: str, rules: Rules, device: str | None) -> None:
    ours, structure = tree_flatten(found)
    theirs, expected_structure = tree_flatten(expected)
    if structure != expected_structure:
        raise Mismatch(f"{what}: structure {structure}, CPU {expected_structure}")
    for index, (one, other, repeat) in enumerate(zip(ours, theirs, tree_flatten(again)[0], strict=True)):
        name = f"{what}[{index}]"
        if isinstance(other, torch.Tensor):
            _same_tensor(one, other, repeat, name, rules, device)
        elif type(one) is not type(other):
            raise Mismatch(f"{name}: {type(one)}, CPU {type(other)}")
        elif rules.values and isinstance(other, bool | int | float | complex | torch.Size | torch.dtype):
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
    one: torch.Tensor, other: torch.Tensor, repeat: torch.Tensor, name: str, rules: Rules, device: str | None
) -> None:
    if device is not None and one.device.type != device:
        raise Mismatch(f"{name} is on {one.device}")
    found, wanted = _facts(one), _facts(other)
    free = () if rules.exact else ("strides", "offset")
    different = {key: (found[key], wanted[key]) for key in wanted if found[key] != wanted[key] and key not in free}
    if different:
        raise Mismatch(f"{name}: (neuron, CPU) differ in {different}")
    if not rules.values or other.device.type == "meta":
        return
    bits, expected, repeated = (_dense(t) for t in (one, other, repeat))
    if torch.equal(bits.view(torch.uint8), expected.view(torch.uint8)):
        return
    repeats = torch.equal(expected.view(torch.uint8), repeated.view(torch.uint8))
    close = _close(bits, expected)
    if close and not (repeats and rules.exact):
        return
    try:
        torch.testing.assert_close(bits, expected, rtol=0, atol=0, equal_nan=True)
        text = "equal values with different bits (signed zeros or kinds of nan)"
    except (AssertionError, RuntimeError) as error:
        text = " ".join(str(error).split())
    raise DifferentBits(f"{name} ({'CPU repeats itself' if repeats else 'CPU does not repeat itself'}): {text}", close)


def _close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether tensors differ only by rounding, relative to the largest value."""
    if not (expected.dtype.is_floating_point or expected.dtype.is_complex):
        return False
    finite = expected[expected.isfinite()].abs()
    bound = _LOOSE.get(expected.dtype, 0.0) * max(1.0, float(finite.max()) if finite.numel() else 0.0)
    try:
        torch.testing.assert_close(found, expected, rtol=0, atol=bound, equal_nan=True)
    except AssertionError:
        return False
    return True


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """The values in order, in memory without gaps."""
    return torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.detach().cpu().flatten())
