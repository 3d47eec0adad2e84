"""Backward, double backward and forward mode of an operator, as functions that run on either device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_map_only

from harness.transfer import is_dense, tensors


def _differentiable(tree: Any) -> list[torch.Tensor]:
    return [t for t in tensors(tree) if t.requires_grad]


def _seeds(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients that differ from element to element and are the same on both devices."""
    return [
        torch.arange(1, t.numel() + 1, dtype=torch.float64).cos().reshape(t.shape).to(t.dtype).to(t.device)
        for t in outputs
    ]


class _Join(torch.autograd.Function):
    """One root for several outputs. Autograd's thread for a device starts with the first root it is given while it gets
    the others, so that it adds gradients in no fixed order; with one root the order is that of the CPU.
    """

    @staticmethod
    def forward(ctx: Any, count: int, *outputs_and_seeds: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*outputs_and_seeds[count:])
        ctx.count = count
        return outputs_and_seeds[0].new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        return (None, *ctx.saved_tensors, *(None for _ in range(ctx.count)))


def backward(function: Callable[..., Any], process: Callable[[Any], Any], order: int = 1) -> Callable[..., Any]:
    """What ``function`` gives, and the gradients of that (or, with ``order=2``, of those) by its arguments."""

    def call(*arguments: Any) -> Any:
        raw = function(*arguments)
        if not is_dense(raw):
            return raw
        result = process(raw)
        leaves = _differentiable(arguments)
        outputs = _differentiable(result)
        found: list[Any] = []
        for step in range(order):
            if not outputs or not leaves:
                break
            root = _Join.apply(len(outputs), *outputs, *_seeds(outputs))  # type: ignore[no-untyped-call]
            grads = torch.autograd.grad(root, leaves, allow_unused=True, create_graph=step + 1 < order)
            # Formulas decide whether gradients share memory or ask for gradients.
            found.append([None if g is None else g.detach().clone() for g in grads])
            outputs = _differentiable(grads)
        return result, found

    return call


def forward_mode(function: Callable[..., Any], process: Callable[[Any], Any]) -> Callable[..., Any]:
    """The values and tangents that ``function`` gives for arguments with tangents."""

    def call(*arguments: Any) -> Any:
        with forward_ad.dual_level():

            def dual(tensor: torch.Tensor) -> torch.Tensor:
                if not tensor.requires_grad:
                    return tensor
                return forward_ad.make_dual(tensor.detach(), _seeds([tensor])[0])

            result = process(function(*tree_map_only(torch.Tensor, dual, arguments)))
            return [tuple(forward_ad.unpack_dual(t)) for t in tensors(result)]

    return call
