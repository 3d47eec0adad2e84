"""Nested tuples, lists and dicts of tensors. PyTorch's pytree does the same for more types, at many times the cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

# Types that are frequent, and leaves.
_LEAVES = frozenset({torch.Tensor, torch.nn.Parameter, torch.device, torch.dtype, bool, int, float, str, type(None)})


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves in order, and a structure that is equal for trees of the same nodes."""
    found: list[Any] = []
    return found, _flatten(tree, found)


def _flatten(tree: Any, found: list[Any]) -> Any:
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind, [_flatten(each, found) for each in tree]
    if kind is dict:
        return kind, list(tree), [_flatten(each, found) for each in tree.values()]
    if kind in _LEAVES or pytree.tree_is_leaf(tree):
        found.append(tree)
        return None
    leaves, structure = pytree.tree_flatten(tree)
    return structure, [_flatten(each, found) for each in leaves]


def leaves(tree: Any) -> list[Any]:
    return flatten(tree)[0]


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind([map_leaves(function, each) for each in tree])
    if kind is dict:
        return {key: map_leaves(function, each) for key, each in tree.items()}
    if kind in _LEAVES or pytree.tree_is_leaf(tree):
        return function(tree)
    return pytree.tree_map(function, tree)
