"""Operators that the table lists as native take every dtype that the device has, also where the CPU's kernel does not.

Truth is the CPU's own kernel in a dtype that it has and that holds the same numbers.
"""

from __future__ import annotations

import pytest
import torch

INTEGRAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_histc_counts_integers(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 1, 2, 7, 9, 9, 9], dtype=dtype)
    found = torch.histc(x.to("neuron"), bins=5, min=0, max=9)
    assert found.dtype == dtype
    assert found.cpu().tolist() == torch.histc(x.float(), bins=5, min=0, max=9).tolist()
