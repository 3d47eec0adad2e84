"""Where less than equal bits is asked for, and why. Each sample that this concerns is counted, by reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.routes import Ran

UNREPEATABLE = "the CPU does not repeat itself: equal but for rounding"
OTHER_LAYOUT = "a layout other than dense: refused with one line that says what to do"
IGNORED_NEG = "the CPU overlooks that its input is a negated view: equal to what the CPU gives for a copy of it"
MATH_ATTENTION = "the CPU has a fused kernel for attention that the device refuses: equal to the CPU without it"
LACKING_KERNEL = "the CPU's kernel lacks the dtype and the device computes it: only that there is no error"
NO_VALUES = "an exception: values are not compared"

_CPU_ATTENTION = "aten::_scaled_dot_product_flash_attention_for_cpu"
_DEVICE_ATTENTION = "aten::_scaled_dot_product_fused_attention_overrideable"

# Where one device runs one kernel for what the other composes of several, values are rounded in other places.
# Operators of the device that have derivatives of their own, while autograd differentiates what the CPU composes. Their
# first gradients are equal bits, those of gradients and of tangents are not.
DIFFERENTIATED = {
    "aten::_thnn_fused_lstm_cell": "the cell has a formula for second gradients, the CPU composes it",
    "aten::_thnn_fused_gru_cell": "the cell has a formula for second gradients, the CPU composes it",
    "aten::_fused_rms_norm": "rms_norm has formulas for second gradients and tangents, the CPU composes it",
    "aten::linear_backward": "linear has a formula for second gradients, the CPU composes it",
}
# Operators of the CPU that compute something else on another device.
_BY_TABLE = "PyTorch chooses the dtype to add in by a table of devices"
OF_THE_CPU = {
    "torch_nn::_linear_cross_entropy_batch_chunked": _BY_TABLE,
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction": _BY_TABLE,
}

# A few units in the last place, relative to the largest value.
_ROUNDING = {
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
    torch.float32: 1e-5,
    torch.float64: 1e-12,
    torch.complex32: 1e-2,
    torch.complex64: 1e-5,
    torch.complex128: 1e-12,
}


def fills_a_gap(found: BaseException | None, expected: BaseException | None) -> bool:
    """Whether the device computes a dtype that the CPU's kernel lacks; tests/parity/test_native_dtypes.py looks at
    values.
    """
    return found is None and isinstance(expected, NotImplementedError) and "not implemented for" in str(expected)


def rounding(on_device: frozenset[Ran], on_cpu: Iterable[str], *, differentiated: bool) -> str:
    """Why values may be rounded in other places than on the CPU; empty if they may not."""
    reasons = [OF_THE_CPU[op] for op in sorted(on_cpu) if op in OF_THE_CPU]
    if differentiated:
        reasons += [DIFFERENTIATED[each.op] for each in sorted(on_device) if each.op in DIFFERENTIATED]
    return f"{reasons[0]}: equal but for rounding" if reasons else ""


def as_the_device_attends(function: Callable[..., Any], on_device: frozenset[Ran], on_cpu: Iterable[str]) -> Any:
    """The function with attention in the form that the device takes for what its fused kernel refuses; else None."""
    if _CPU_ATTENTION not in on_cpu or any(each.op == _DEVICE_ATTENTION for each in on_device):
        return None

    def by_math(*arguments: Any) -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            return function(*arguments)

    return by_math


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether tensors differ only by rounding, relative to the largest value."""
    if not (expected.dtype.is_floating_point or expected.dtype.is_complex):
        return False
    finite = expected[expected.isfinite()].abs()
    bound = _ROUNDING.get(expected.dtype, 0.0) * max(1.0, float(finite.max()) if finite.numel() else 0.0)
    try:
        torch.testing.assert_close(found, expected, rtol=0, atol=bound, equal_nan=True)
    except AssertionError:
        return False
    return True
