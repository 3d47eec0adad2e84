"""The dtypes that the results of a call are to have: what PyTorch infers for the arguments as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map

from harness.call import Call, overload
from harness.native_dtypes import in_dtype

Dtypes = tuple[torch.dtype | None, ...]


def dtypes_of(result: Any) -> Dtypes:
    """By position; None for what is no tensor."""
    results = result if isinstance(result, tuple | list) else (result,)
    return tuple(each.dtype if isinstance(each, torch.Tensor) else None for each in results)


def inferred(call: Call) -> Dtypes | None:
    """What PyTorch's own functions for tensors without data say; they do not know every dtype."""

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.to("meta")
        return torch.device("meta") if isinstance(leaf, torch.device) else leaf

    args, kwargs = tree_map(move, (call.args, call.kwargs))
    try:
        return dtypes_of(overload(call.op)(*args, **kwargs))
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return None


def _as_for_float16(call: Call, dtype: torch.dtype, keeps: Sequence[str]) -> Dtypes:
    """What float16 gives, which has kernels: some results are float32 whatever the operands are."""
    found = dtypes_of(in_dtype(call, dtype, torch.float16, keeps).run())
    return tuple(dtype if each == torch.float16 else each for each in found)


def expected(
    call: Call, dtype: torch.dtype, computed: Dtypes, computed_in: torch.dtype, keeps: Sequence[str]
) -> Dtypes:
    """Of a call with operands of ``dtype``, given what it returns when computed in another dtype."""
    found = inferred(call)
    if found is None and computed_in.is_floating_point:
        found = _as_for_float16(call, dtype, keeps)
    if found is None:
        found = tuple(dtype if each == computed_in else each for each in computed)
    return tuple(wanted if each is not None else None for wanted, each in zip(found, computed, strict=True))


def exceptions(wanted: Dtypes, dtype: torch.dtype, computed: Dtypes, computed_in: torch.dtype) -> tuple[str, ...]:
    """The wanted dtypes where it is not enough to cast what was computed back; empty for the others."""
    by_rule = [dtype if each == computed_in else each for each in computed]
    found = [
        "" if want in (None, rule) else str(want).removeprefix("torch.")
        for want, rule in zip(wanted, by_rule, strict=True)
    ]
    return tuple(found) if any(found) else ()
