"""The samples of an OpInfo, made for the device, and variants of them: other layouts, no elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils._pytree import tree_map

from harness.compare import refuses_in_one_line
from harness.transfer import DEVICE, is_dense, tensors

Arguments = tuple[Any, tuple[Any, ...], dict[str, Any]]


def samples(info: Any, dtype: torch.dtype, requires_grad: bool, limit: int | None) -> Iterator[Any]:
    """The samples, as the database gives them. A generator that makes another layout ends where the device refuses."""
    made = iter(info.sample_inputs(DEVICE, dtype, requires_grad=requires_grad))
    for _ in range(limit) if limit is not None else iter(int, 1):
        try:
            sample = next(made)
        except StopIteration:
            return
        except NotImplementedError as error:
            refuses_in_one_line(error)
            return
        yield sample


def error_samples(info: Any, limit: int | None) -> Iterator[Any]:
    if info.error_inputs_func is None:
        return
    try:
        yield from islice(info.error_inputs(DEVICE), limit)
    except NotImplementedError as error:
        refuses_in_one_line(error)


def arguments(sample: Any) -> Arguments:
    return sample.input, sample.args, sample.kwargs


def _grad_like(made: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    return made.detach().requires_grad_(tensor.requires_grad)


def _noncontiguous(tensor: torch.Tensor) -> torch.Tensor:
    return _grad_like(noncontiguous_like(tensor.detach()), tensor)


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() < 2:
        return tensor
    return _grad_like(tensor.detach().transpose(0, -1).contiguous().transpose(0, -1), tensor)


def _conjugated(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_complex():
        return tensor
    return _grad_like(tensor.detach().resolve_conj().conj_physical().conj(), tensor)


def _negated(tensor: torch.Tensor) -> torch.Tensor:
    # PyTorch makes such views of the parts of complex numbers only: kernels need not expect integers.
    if not (tensor.is_complex() or tensor.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)):
        return tensor
    return _grad_like(torch._neg_view(tensor.detach().resolve_neg().neg()), tensor)


def _emptied(tensor: torch.Tensor) -> torch.Tensor:
    return _grad_like(tensor.detach().narrow(0, 0, 0), tensor) if tensor.dim() else tensor


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "noncontiguous": _noncontiguous,
    "transposed": _transposed,
    "conj": _conjugated,
    "neg": _negated,
}


def changed(change: Callable[[torch.Tensor], torch.Tensor], made: Arguments) -> Arguments | None:
    """The arguments with every dense tensor of the device changed; None when nothing is."""
    seen: list[bool] = []

    def apply(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.device.type != DEVICE or not is_dense(leaf):
            return leaf
        result = change(leaf)
        seen.append(result is not leaf)
        return result

    with torch.no_grad():
        result = tree_map(apply, made)
    return result if any(seen) else None


def without_elements(made: Arguments) -> Arguments | None:
    return None if any(not t.numel() for t in tensors(made)) else changed(_emptied, made)
