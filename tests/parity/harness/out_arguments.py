"""``out=`` arguments for an expected result: right, wrong and overlapping ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from harness.samples import Arguments
from harness.transfer import is_dense, tensors
from harness.trees import map_leaves


def _right(t: torch.Tensor) -> torch.Tensor:
    return torch.full_like(t, 1).detach()


def _strided(t: torch.Tensor) -> torch.Tensor:
    return torch.ones((*t.shape, 2), dtype=t.dtype)[..., 1]


def _transposed(t: torch.Tensor) -> torch.Tensor:
    # tril and triu of the CPU compute wrong addresses for such a result: there has to be memory to write to.
    memory = torch.ones(16 * t.numel(), dtype=t.dtype)
    strides = torch.empty(t.shape[::-1], device="meta").stride()[::-1]
    return memory.as_strided(t.shape, strides)


def _larger(t: torch.Tensor) -> torch.Tensor:
    return torch.ones((*t.shape, 3), dtype=t.dtype)


def _empty(t: torch.Tensor) -> torch.Tensor:
    return torch.ones(0, dtype=t.dtype)


def _integral(t: torch.Tensor) -> torch.Tensor:
    floats = t.dtype.is_floating_point or t.dtype.is_complex
    return torch.ones(t.shape, dtype=torch.int64 if floats else torch.bool)


def _wider(t: torch.Tensor) -> torch.Tensor:
    return torch.ones(t.shape, dtype=torch.complex128 if t.dtype.is_complex else torch.float64)


def _overlapping(t: torch.Tensor) -> torch.Tensor:
    # Some kernels of the CPU write as if this were contiguous: all of that is inside of the storage.
    return torch.ones(t.numel(), dtype=t.dtype).as_strided(t.shape, (0,) * t.dim())


VARIANTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "right": _right,
    "strided": _strided,
    "transposed": _transposed,
    "larger": _larger,
    "empty": _empty,
    "integral": _integral,
    "wider": _wider,
    "overlapping": _overlapping,
}


def out_variants(result: Any, made: Arguments) -> Iterator[tuple[str, Arguments, Any]]:
    """A name, arguments, and what to pass as ``out``: tensors on the CPU, but for those that share memory with the
    first argument.
    """
    found = tensors(result)
    single = isinstance(result, torch.Tensor)
    if not found or not is_dense(result) or not (single or isinstance(result, tuple | list)):
        return
    for name, variant in VARIANTS.items():
        out = map_leaves(variant, result if single else tuple(result))
        yield name, made, out
    if single and isinstance(made[0], torch.Tensor) and made[0].shape == result.shape and made[0].dtype == result.dtype:
        yield "input", made, made[0]
        if made[0].numel() > 1:
            memory = made[0].new_ones(made[0].numel() + 1)
            shifted = memory[:-1].view(made[0].shape).copy_(made[0])
            yield "shifted", (shifted, *made[1:]), memory[1:].view(made[0].shape)
