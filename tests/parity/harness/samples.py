"""The samples of an OpInfo, made for the device, and variants of them: other layouts, no elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import torch
from torch.testing._internal.common_utils import noncontiguous_like

from harness.compare import refuses_in_one_line
from harness.record import Record
from harness.relaxations import OTHER_LAYOUT
from harness.runs import seed
from harness.transfer import DEVICE, is_dense, tensors
from harness.trees import map_leaves

_SEED = 1234  # that of info.sample_inputs()

Arguments = tuple[Any, tuple[Any, ...], dict[str, Any]]


def samples(info: Any, dtype: torch.dtype, requires_grad: bool, limit: int | None, record: Record) -> Iterator[Any]:
    """The samples, as the database gives them."""
    # Not by way of info.sample_inputs(), which searches the stack for a test and reads the files of all its frames.
    return _made(lambda: iter(info.sample_inputs_func(info, DEVICE, dtype, requires_grad)), limit, record)


def error_samples(info: Any, limit: int | None, record: Record) -> Iterator[Any]:
    if info.error_inputs_func is None:
        return iter(())
    return _made(lambda: iter(info.error_inputs_func(info, DEVICE)), limit, record)


def _made(start: Callable[[], Iterator[Any]], limit: int | None, record: Record) -> Iterator[Any]:
    """What a generator makes; one that makes another layout than a dense one ends where the device refuses."""
    generator = None
    for _ in range(limit) if limit is not None else count():
        seed(_SEED)
        try:
            generator = generator or start()
            sample = next(generator)
        except StopIteration:
            return
        except NotImplementedError as error:
            with record.sample("forward", "making a sample") as check:
                refuses_in_one_line(error)
                check.relax(OTHER_LAYOUT)
            return
        yield sample


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


# The CPU's own backward divides by zero, or reads memory that it does not have, when these get no elements.
CRASHES_WITHOUT_ELEMENTS = frozenset({"native_batch_norm", "_native_batch_norm_legit", "nn.functional.pdist"})


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
        result = map_leaves(apply, made)
    return result if any(seen) else None


def without_elements(made: Arguments) -> Arguments | None:
    return None if any(not t.numel() for t in tensors(made)) else changed(_emptied, made)
