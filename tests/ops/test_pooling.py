"""Pooling, resampling and embedding bags: CPU's bits, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

Compare = Callable[..., Any]

F = torch.nn.functional

POOLS: dict[str, tuple[int, Callable[[Tensor], Any]]] = {
    "max_pool1d": (1, lambda x: F.max_pool1d(x, 3, stride=2, padding=1, dilation=1)),
    "max_pool1d with indices": (1, lambda x: F.max_pool1d(x, 2, return_indices=True)),
    "max_pool2d": (2, lambda x: F.max_pool2d(x, (3, 2), stride=(2, 1), padding=1, ceil_mode=True)),
    "max_pool2d with indices": (2, lambda x: F.max_pool2d(x, 2, return_indices=True)),
    "max_pool3d": (3, lambda x: F.max_pool3d(x, 2, return_indices=True)),
    "avg_pool1d": (1, lambda x: F.avg_pool1d(x, 3, padding=1)),
    "avg_pool2d": (2, lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)),
    "avg_pool3d": (3, lambda x: F.avg_pool3d(x, 2, divisor_override=3)),
    "lp_pool2d": (2, lambda x: F.lp_pool2d(x.abs() + 1, 2.0, 3)),
    "adaptive_avg_pool1d": (1, lambda x: F.adaptive_avg_pool1d(x, 3)),
    "adaptive_avg_pool2d": (2, lambda x: F.adaptive_avg_pool2d(x, (3, None))),
    "adaptive_avg_pool2d to one": (2, lambda x: F.adaptive_avg_pool2d(x, 1)),
    "adaptive_avg_pool3d": (3, lambda x: F.adaptive_avg_pool3d(x, 2)),
    "adaptive_max_pool1d": (1, lambda x: F.adaptive_max_pool1d(x, 3, return_indices=True)),
    "adaptive_max_pool2d": (2, lambda x: F.adaptive_max_pool2d(x, 3)),
    "adaptive_max_pool3d": (3, lambda x: F.adaptive_max_pool3d(x, 2)),
    "fractional_max_pool2d": (2, lambda x: F.fractional_max_pool2d(x, 2, output_size=3)),
    "max_unpool2d": (2, lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)),
    "nearest": (2, lambda x: F.interpolate(x, scale_factor=2)),
    "nearest-exact": (1, lambda x: F.interpolate(x, 9, mode="nearest-exact")),
    "linear": (1, lambda x: F.interpolate(x, 9, mode="linear")),
    "bilinear": (2, lambda x: F.interpolate(x, (5, 9), mode="bilinear", align_corners=True)),
    "bilinear, antialiased": (2, lambda x: F.interpolate(x, (3, 4), mode="bilinear", antialias=True)),
    "bicubic": (2, lambda x: F.interpolate(x, (5, 9), mode="bicubic")),
    "trilinear": (3, lambda x: F.interpolate(x, 5, mode="trilinear")),
    "area": (2, lambda x: F.interpolate(x, 3, mode="area")),
    "pad, reflected": (2, lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect")),
    "pad, replicated": (3, lambda x: F.pad(x, (1, 2, 0, 1, 2, 2), mode="replicate")),
    "pad, circular": (1, lambda x: F.pad(x, (2, 1), mode="circular")),
    "pad, constant and negative": (2, lambda x: F.pad(x, (1, -1, 0, 2), value=3.0)),
    "grid_sample": (2, lambda x: F.grid_sample(x, torch.linspace(-1, 1, 36, device=x.device).reshape(2, 3, 3, 2))),
    "pixel_unshuffle": (2, lambda x: F.pixel_unshuffle(x, 2)),
    "local_response_norm": (2, lambda x: F.local_response_norm(x, 2)),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling_and_resampling(same_as_cpu: Compare, name: str) -> None:
    dims, function = POOLS[name]
    torch.manual_seed(0)
    x = torch.randn(2, 4, *[6] * dims)
    same_as_cpu(function, x.requires_grad_())
    if dims == 2:
        same_as_cpu(function, x.detach().contiguous(memory_format=torch.channels_last).requires_grad_())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["max_pool2d with indices", "avg_pool2d", "adaptive_avg_pool2d", "bilinear"])
def test_dtypes(same_as_cpu: Compare, name: str, dtype: torch.dtype) -> None:
    same_as_cpu(POOLS[name][1], torch.arange(288.0).sin().reshape(2, 4, 6, 6).to(dtype).requires_grad_())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("two_dimensional", [False, True])
def test_embedding_bag(same_as_cpu: Compare, mode: str, two_dimensional: bool) -> None:
    weight = torch.randn(10, 4, requires_grad=True)
    indices = torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])

    def bag(weight: Tensor, indices: Tensor) -> Tensor:
        if two_dimensional:
            return F.embedding_bag(indices, weight, mode=mode, padding_idx=2)
        offsets = torch.tensor([0, 3, 3], device=weight.device)
        return F.embedding_bag(indices.view(-1), weight, offsets, mode=mode, include_last_offset=False)

    same_as_cpu(bag, weight, indices)


def test_embedding_bag_with_weights_of_samples(same_as_cpu: Compare) -> None:
    weight, scale = torch.randn(10, 4, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    indices = torch.tensor([[1, 2, 4], [4, 3, 9]])
    same_as_cpu(lambda w, s, i: F.embedding_bag(i, w, mode="sum", per_sample_weights=s), weight, scale, indices)


def test_embedding(same_as_cpu: Compare) -> None:
    weight, indices = torch.randn(10, 4, requires_grad=True), torch.tensor([[1, 2, 2], [0, 9, 1]])
    same_as_cpu(lambda w, i: F.embedding(i, w), weight, indices)
    same_as_cpu(lambda w, i: F.embedding(i, w, padding_idx=2, scale_grad_by_freq=True), weight, indices)
    same_as_cpu(lambda w, i: F.embedding(i, w.detach(), max_norm=1.0), weight.detach(), indices)
    same_as_cpu(lambda w, i: F.one_hot(i, 12), weight, indices)


def test_sparse_gradient_of_an_embedding_gives_one_line() -> None:
    weight = torch.randn(10, 4, device="neuron", requires_grad=True)
    with pytest.raises(NotImplementedError) as caught:
        F.embedding(torch.tensor([1, 2], device="neuron"), weight, sparse=True).sum().backward()
    assert len(str(caught.value).splitlines()) == 1
