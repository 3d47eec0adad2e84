"""A call of one operator of the dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_map, tree_map_only

from harness.transfer import DEVICE


class Call(NamedTuple):
    """Tensors are on the CPU."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def run(self, device: str = DEVICE) -> Any:
        """Runs the operator on copies; returns its results, or the written arguments if it has none, on the CPU."""

        def move(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor):
                return leaf.clone().to(device)
            return torch.device(device) if isinstance(leaf, torch.device) else leaf

        args, kwargs = tree_map(move, (self.args, self.kwargs))
        result = overload(self.op)(*args, **kwargs)
        return tree_map_only(torch.Tensor, torch.Tensor.cpu, args[0] if result is None else result)

    def map(self, change: Callable[[str, Any], Any]) -> Call:
        """The call with every leaf of its arguments changed; ``change`` is given the argument's name."""
        names = [argument.name for argument in overload(self.op)._schema.arguments]
        args = tuple(
            tree_map(lambda leaf, name=name: change(name, leaf), value)
            for name, value in zip(names, self.args, strict=False)
        )
        kwargs = {name: tree_map(lambda leaf: change(name, leaf), value) for name, value in self.kwargs.items()}  # noqa: B023
        return Call(self.op, args, kwargs)

    def leaves(self) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        self.map(lambda name, leaf: found.append((name, leaf)))
        return found


def overload(op: str) -> Any:
    name, _, variant = op.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, name), variant or "default")
