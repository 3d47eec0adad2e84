"""Copies of the tensors of a sample on one device, faithful to strides, offsets, views of one storage and lazy bits."""

from __future__ import annotations

from typing import Any

import torch

from harness.trees import leaves, map_leaves

DEVICE = "neuron"


def tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in leaves(tree) if isinstance(leaf, torch.Tensor)]


def is_dense(tree: Any) -> bool:
    return all(t.layout == torch.strided and not t.is_nested and not t.is_quantized for t in tensors(tree))


def on_device(leaf: Any) -> bool:
    """Whether a leaf of a sample says "the device": a tensor there, a torch.device, or its name."""
    if isinstance(leaf, torch.Tensor):
        return leaf.device.type == DEVICE
    if isinstance(leaf, torch.device):
        return leaf.type == DEVICE
    return isinstance(leaf, str) and leaf.split(":")[0] == DEVICE


class Transfer:
    """Copies trees to ``target``. Samples are made for the device: what they put on the host stays there.

    ``everything`` moves tensors of the host as well.
    """

    def __init__(self, target: str, everything: bool = False) -> None:
        self._target = target
        self._everything = everything
        self._storages: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __call__(self, tree: Any) -> Any:
        with torch.no_grad():
            return map_leaves(self._leaf, tree)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return self._tensor(leaf) if leaf.device.type in (DEVICE, "cpu") else leaf
        if on_device(leaf):
            return torch.device(self._target) if isinstance(leaf, torch.device) else self._target
        return leaf

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        moves = self._everything or on_device(tensor)
        target = self._target if moves else "cpu"
        if not is_dense(tensor):
            return tensor.detach().to(target, copy=True).requires_grad_(tensor.requires_grad)
        storage = tensor.untyped_storage()
        if storage._cdata not in self._storages:
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            # The tensor is kept too, so that no other storage gets this one's address.
            self._storages[storage._cdata] = tensor, whole.clone().to(target)
        bytes_ = self._storages[storage._cdata][1]
        made = torch.empty(0, dtype=tensor.dtype, device=target)
        made.set_(bytes_.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
        made = torch._conj(made) if tensor.is_conj() else made
        made = torch._neg_view(made) if tensor.is_neg() else made
        if isinstance(tensor, torch.nn.Parameter):
            return torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        return made.requires_grad_(tensor.requires_grad)
