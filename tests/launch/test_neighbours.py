"""Tensors of odd sizes, side by side in device memory: no operator touches what lies next to its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

Compare = Callable[..., Any]

SHAPES = ((63, 65), (1, 1), (7,), (33, 31), (1, 129), (5, 1, 13), (0, 3), (255,), (257, 2))
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int16, torch.int64, torch.bool)
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(-1),
    "sin": lambda x: x.float().sin(),
    "flip": lambda x: x.flip(0),
    "cat": lambda x: torch.cat([x, x], -1),
    "clone": lambda x: x.clone(),
    "clone of a part": lambda x: x.flatten()[1:].clone(),
    "conversion": lambda x: x.to(torch.float32),
    "comparison": lambda x: x == x,
    "repeat": lambda x: x.repeat(*[3] * x.dim()),
    "sort": lambda x: x.sort(-1)[0],
    "transpose": lambda x: x.transpose(0, -1).contiguous(),
    "in place": lambda x: x.clone().zero_(),
    "copy into a part": lambda x: x.flatten()[1:].copy_(x.flatten()[:-1].clone()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_guards_around_every_operand_and_result_stay(same_as_cpu: Compare, shape: tuple[int, ...]) -> None:
    values = torch.arange(torch.Size(shape).numel()).remainder(7).sub(3).reshape(shape)
    for dtype in DTYPES:
        x = values.to(dtype)

        def between_guards(x: Tensor, dtype: torch.dtype = dtype) -> list[Tensor]:
            found = []
            for name, function in FUNCTIONS.items():
                guards = [torch.full((17,), 77, dtype=torch.uint8, device=x.device) for _ in range(2)]
                result = function(x.clone())
                guards += [torch.full((17,), 77, dtype=torch.uint8, device=x.device) for _ in range(2)]
                result = function(x)
                assert all(guard.tolist() == [77] * 17 for guard in guards), (name, dtype)
                found.append(result)
            return found

        same_as_cpu(between_guards, x)
