"""Kernels that return several tensors over one fresh memory block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

Define = Callable[..., Any]


def storages(tensors: Any) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors}


def test_query_key_value_of_one_block(same_as_cpu: Callable[..., Any], allocated: Callable[..., int]) -> None:
    # PyTorch's CPU kernel returns three slices of one tensor.
    qkv = torch.randn(4, 16, 3 * 64)
    bias = torch.randn(3 * 64)
    before = allocated()
    results = same_as_cpu(lambda qkv, bias: torch._transform_bias_rescale_qkv(qkv, bias, 2), qkv, bias)
    on_cpu = torch._transform_bias_rescale_qkv(qkv, bias, 2)
    assert len(storages(results)) == len(storages(on_cpu))
    assert allocated() - before == 3 * on_cpu[0].nbytes


@pytest.mark.parametrize("split", [torch.unsafe_split, torch.unsafe_chunk, torch.split, torch.chunk])
def test_splits_share_the_memory_of_the_input(
    split: Callable[..., list[Tensor]], allocated: Callable[..., int]
) -> None:
    x = torch.arange(12.0, device="neuron")
    before = allocated()
    parts = split(x, 4)
    assert allocated() == before
    assert storages(parts) == storages([x])
    assert torch.equal(torch.cat(list(parts)), x)


def test_results_over_one_block_see_each_other_and_count_once(
    cpu_operator: Define, allocated: Callable[..., int]
) -> None:
    def kernel(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        base = x.repeat(1024)
        return base[:512], base[512:], base.view(2, 512)

    halves = cpu_operator("halves(Tensor x) -> (Tensor, Tensor, Tensor)", kernel)
    before = allocated()
    left, right, both = halves(torch.ones(1, device="neuron"))
    assert allocated() - before == 4096
    left.fill_(3)
    assert both.sum(1).tolist() == [3 * 512, 512]
    del left, both
    assert allocated() - before == 4096
    assert right.sum().item() == 512
    del right
    assert allocated() == before


def test_the_same_fresh_tensor_returned_twice(cpu_operator: Define) -> None:
    def kernel(x: Tensor) -> tuple[Tensor, Tensor]:
        made = x + 1
        return made, made

    twice = cpu_operator("twice(Tensor x) -> (Tensor, Tensor)", kernel)
    first, second = twice(torch.zeros(3, device="neuron"))
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    first.fill_(7)
    assert second.tolist() == [7, 7, 7]


def test_fresh_result_and_view_of_it_in_a_list(cpu_operator: Define) -> None:
    def kernel(x: Tensor) -> list[Tensor]:
        made = x * 2
        return [made, made.t(), x]

    listed = cpu_operator("listed(Tensor x) -> Tensor[]", kernel)
    x = torch.arange(6.0).reshape(2, 3).to("neuron")
    made, turned, same = listed(x)
    assert same is x
    made[0, 1] = 50
    assert turned[1, 0].item() == 50


@pytest.mark.parametrize(
    "function",
    [
        torch.linalg.qr,
        torch.linalg.svd,
        torch.linalg.eigh,
        torch.linalg.lu_factor_ex,
        torch.linalg.ldl_factor_ex,
        torch.linalg.lu,
        torch.linalg.slogdet,
        torch.linalg.inv_ex,
        torch.linalg.cholesky_ex,
        torch.geqrf,
    ],
)
def test_factorisations(same_as_cpu: Callable[..., Any], function: Callable[[Tensor], Any]) -> None:
    torch.manual_seed(1)
    matrix = torch.randn(3, 5, 5)
    positive = matrix @ matrix.mT + 5 * torch.eye(5)
    results = same_as_cpu(function, positive)
    # Every result can be written to, and is alone or not exactly as on CPU.
    assert len(storages(results)) == len(storages(function(positive)))


@pytest.mark.parametrize("module", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_layers(module: type[torch.nn.RNNBase]) -> None:
    torch.manual_seed(2)
    layer = module(4, 6, num_layers=2, bidirectional=True)
    x = torch.randn(5, 3, 4)
    expected = layer(x)[0]
    (wanted,) = torch.autograd.grad(expected.square().sum(), [layer.weight_ih_l0])
    layer = layer.to("neuron")
    found = layer(x.to("neuron"))[0]
    (gradient,) = torch.autograd.grad(found.square().sum(), [layer.weight_ih_l0])
    torch.testing.assert_close(found.cpu(), expected)
    torch.testing.assert_close(gradient.cpu(), wanted)
