"""Backward, double backward and forward mode of an operator, as functions that run on either device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from harness.transfer import is_dense, tensors
from harness.trees import map_leaves


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


class _Count(torch.autograd.Function):
    """Its backward raises the number that the thread it runs in gives to the next node of a graph."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, number: int) -> torch.Tensor:
        ctx.number = number
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        while _next_number() < ctx.number:
            pass
        return grad, None


def _next_number() -> int:
    x = torch.zeros((), requires_grad=True)
    number: int = x.view_as(x).grad_fn._sequence_nr()  # type: ignore[union-attr]
    return number


def _number_as_on_cpu(device: torch.device) -> None:
    """Autograd runs the node with the highest number first, and so adds gradients, and each thread counts by itself.

    The nodes that a backward makes have higher numbers than those of the forward on the CPU, where one thread makes
    both. In the device's thread they have if that thread has counted further.
    """
    if device.type != "cpu":
        x = torch.ones((), device=device, requires_grad=True)
        torch.autograd.grad(_Count.apply(x, _next_number()), x, create_graph=True)  # type: ignore[no-untyped-call]


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
            if order > 1:
                _number_as_on_cpu(outputs[0].device)
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

            def dual(leaf: Any) -> Any:
                if not isinstance(leaf, torch.Tensor) or not leaf.requires_grad:
                    return leaf
                return forward_ad.make_dual(leaf.detach(), _seeds([leaf])[0])

            result = process(function(*map_leaves(dual, arguments)))
            return [tuple(forward_ad.unpack_dual(t)) for t in tensors(result)]

    return call
