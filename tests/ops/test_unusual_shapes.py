"""Sizes that programs seldom have, where kernels written for the usual ones go wrong: CPU's values, or its error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

Compare = Callable[..., Any]


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).cos().reshape(shape)


# Function and arguments on CPU.
CALLS: dict[str, tuple[Any, ...]] = {
    "convolution with 65537 channels": (F.conv1d, numbers(1, 1, 3), numbers(65537, 1, 3), numbers(65537), 1, 1),
    "convolution of an empty batch": (F.conv2d, ones(0, 2, 4, 4), ones(3, 2, 3, 3)),
    "matrices without an inner size": (torch.mm, ones(3, 0), ones(0, 2)),
    "matrices without rows": (torch.mm, ones(0, 3), ones(3, 2)),
    "addmm without an inner size": (torch.addmm, numbers(3, 2), ones(3, 0), ones(0, 2)),
    "batch of no matrices": (torch.bmm, ones(0, 2, 3), ones(0, 3, 4)),
    "matrices that broadcast": (torch.matmul, numbers(2, 1, 3, 4), numbers(5, 4, 2)),
    "linear of one vector": (F.linear, numbers(3), numbers(2, 3), numbers(2)),
    "linear without rows": (F.linear, ones(0, 3), numbers(2, 3), numbers(2)),
    "layer norm without rows": (F.layer_norm, ones(0, 4), (4,)),
    "scan of no dimension": (torch.cumsum, torch.tensor(3.0), 0),
    "softmax of no dimension": (torch.softmax, torch.tensor(2.0), 0),
    "sort of no dimension": (torch.sort, torch.tensor(2.0)),
    "sort of no elements": (torch.sort, torch.empty(2, 0)),
    "topk of nothing": (torch.topk, numbers(2, 3), 0),
    "sum of nothing": (torch.sum, ones(0, 3), 0),
    "mean of nothing": (torch.mean, ones(0, 3), 0),
    "product of nothing": (torch.prod, ones(0)),
    "all of nothing": (torch.all, ones(0, dtype=torch.bool)),
    "sum of truth values": (torch.sum, torch.tensor([True, False, True])),
    "maximum of an empty size": (torch.max, ones(0, 3), 0),
    "argmax of nothing": (torch.argmax, ones(0)),
    "join with a legacy empty tensor": (lambda *each: torch.cat(each), torch.empty(0), numbers(2, 2)),
    "64 dimensions": (lambda x: x.add(1).sum(3).transpose(0, 62), numbers(*[1] * 63, 2)),
    "65 dimensions": (torch.unsqueeze, numbers(*[1] * 64), 0),
    "a long dimension": (lambda x: x.expand(70000, 2).sum(1), numbers(70000, 1)),
    "pooling of an odd size": (F.max_pool2d, numbers(1, 7, 7), 3, 2, 1, 1, True),
    "pooling larger than its input": (F.avg_pool2d, numbers(1, 2, 2), 3),
    "interpolation to one element": (lambda x: F.interpolate(x, size=1, mode="linear"), numbers(1, 2, 5)),
    "8-bit numbers that wrap": (lambda x: x + 10, torch.tensor([250, 5], dtype=torch.uint8)),
    "8-bit matrices": (torch.mm, ones(2, 3, dtype=torch.int8), ones(3, 2, dtype=torch.int8)),
    "embedding of no tokens": (F.embedding, torch.empty(0, dtype=torch.long), numbers(3, 2)),
    "loss without rows": (F.cross_entropy, ones(0, 3), torch.empty(0, dtype=torch.long)),
    "attention to one key": (F.scaled_dot_product_attention, numbers(1, 1, 3, 2), ones(1, 1, 1, 2), ones(1, 1, 1, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_value_or_error_is_that_of_cpu(same_as_cpu: Compare, name: str) -> None:
    function, *arguments = CALLS[name]
    try:
        function(*arguments)
    except (RuntimeError, IndexError) as error:
        with pytest.raises(type(error)) as caught:
            function(*(each.to("neuron") if isinstance(each, torch.Tensor) else each for each in arguments))
        assert str(caught.value) == str(error)
    else:
        same_as_cpu(function, *arguments)
