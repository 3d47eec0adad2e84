"""What a model of the zoo consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Batch = tuple[Tensor, ...]


@dataclass(frozen=True)
class Case:
    build: Callable[[], nn.Module]
    batch: Callable[[torch.Generator], Batch]  # on the CPU
    loss: Callable[[nn.Module, Batch], Tensor]


def classify(model: nn.Module, batch: Batch) -> Tensor:
    """Cross-entropy of what the model makes of all but the last tensor, which holds the classes."""
    logits = model(*batch[:-1])
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), batch[-1].reshape(-1), ignore_index=-100)
