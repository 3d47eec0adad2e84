"""Weights that are slices, transposes or steps of other tensors: CPU's values and gradients, in every kind of layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

Compare = Callable[..., Any]

# Of w (12 x 16), x (2 x 16), k (8 x 6 x 3 x 3), im (2 x 6 x 9 x 9), v (32) and b (4 x 10 x 6).
LAYERS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], Any]] = {
    "linear, rows": lambda w, x, k, im, v, b: F.linear(x, w[::2]),
    "linear, columns": lambda w, x, k, im, v, b: F.linear(x[:, ::2], w[:, ::2]),
    "linear, transposed": lambda w, x, k, im, v, b: F.linear(x[:, :12], w.t()),
    "linear, strided bias": lambda w, x, k, im, v, b: F.linear(x, w[::2], v[::2][:6]),
    "linear, transposed input": lambda w, x, k, im, v, b: F.linear(x.t(), w[:4, 1:3]),
    "convolution, channels": lambda w, x, k, im, v, b: F.conv2d(im[:, ::2], k[::2, ::2]),
    "convolution, transposed": lambda w, x, k, im, v, b: F.conv2d(im, k.transpose(2, 3), v[::4]),
    "convolution, both transposed": lambda w, x, k, im, v, b: F.conv2d(im.transpose(2, 3), k.flip(2)),
    "transposed convolution": lambda w, x, k, im, v, b: F.conv_transpose2d(im[:, 1::2], k.transpose(0, 1)[::2, ::3]),
    "layer norm": lambda w, x, k, im, v, b: F.layer_norm(x, (16,), v[::2], v[1::2]),
    "rms norm": lambda w, x, k, im, v, b: F.rms_norm(x, (16,), v[::2]),
    "batch norm": lambda w, x, k, im, v, b: F.batch_norm(
        im, v[::5][:6], v[1::5][:6].abs() + 1, v[2::5][:6], v[3::4][:6]
    ),
    "embedding": lambda w, x, k, im, v, b: F.embedding(torch.tensor([1, 3, 1], device=w.device), w[:, ::3]),
    "batches of matrices": lambda w, x, k, im, v, b: torch.bmm(b.transpose(1, 2), b[:, :, ::2]),
    "baddbmm": lambda w, x, k, im, v, b: torch.baddbmm(b[:, :6, :6].transpose(1, 2), b.transpose(1, 2), b),
    "addmm": lambda w, x, k, im, v, b: torch.addmm(v[::2][:12], x, w.t()),
    "addmv": lambda w, x, k, im, v, b: torch.addmv(v[::2][:12], w, v[1::2]),
    "mv": lambda w, x, k, im, v, b: torch.mv(w, v[::2]),
    "dot": lambda w, x, k, im, v, b: torch.dot(v[::2], v[1::2]),
    "outer": lambda w, x, k, im, v, b: torch.outer(v[::3], v[1::2]),
    "einsum": lambda w, x, k, im, v, b: torch.einsum("bij,bkj->ik", b, b[:, ::3]),
    "prelu": lambda w, x, k, im, v, b: F.prelu(im, v[::5][:6]),
    "bilinear": lambda w, x, k, im, v, b: F.bilinear(x[:, :4], x[:, 4:12:2], v.view(2, 4, 4).transpose(1, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_cpu(same_as_cpu: Compare, name: str) -> None:
    generator = torch.Generator().manual_seed(4)
    shapes = ((12, 16), (2, 16), (8, 6, 3, 3), (2, 6, 9, 9), (32,), (4, 10, 6))
    tensors = [torch.randn(shape, generator=generator) for shape in shapes]
    same_as_cpu(LAYERS[name], *tensors)
    if name != "batch norm":  # which writes no gradient for its running statistics
        same_as_cpu(LAYERS[name], *(tensor.requires_grad_() for tensor in tensors))
