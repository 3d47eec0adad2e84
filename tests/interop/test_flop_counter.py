"""torch.utils.flop_counter counts on the device what it counts on CPU, and attention as on other devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode


def count(work: Callable[[str], Any], device: str) -> int:
    torch.manual_seed(0)
    with FlopCounterMode(display=False) as counter:
        work(device)
    return counter.get_total_flops()


def train(layer: nn.Module, *shape: int, with_input: bool = True) -> Callable[[str], None]:
    def run(device: str) -> None:
        x = torch.randn(shape).to(device).requires_grad_(with_input)
        layer.to(device)(x).sum().backward()

    return run


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("with_input", [True, False], ids=["input gradient", "weights only"])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)], ids=str)
def test_linear(shape: tuple[int, ...], with_input: bool, bias: bool) -> None:
    work = train(nn.Linear(4, 5, bias=bias), *shape, with_input=with_input)
    rows = torch.Size(shape[:-1]).numel()
    assert count(work, "neuron") == count(work, "cpu") == 2 * rows * 4 * 5 * (3 if with_input else 2)


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "convolution": (lambda: nn.Conv2d(3, 8, 3), (2, 3, 8, 8)),
    "transposed convolution": (lambda: nn.ConvTranspose1d(3, 2, 3), (2, 3, 8)),
    "a stack": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2)), (3, 8)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    make, shape = LAYERS[name]
    work = train(make(), *shape)
    assert count(work, "neuron") == count(work, "cpu") > 0


def products(device: str) -> None:
    a, b = torch.ones(2, 3, 4, device=device), torch.ones(2, 4, 3, device=device)
    torch.baddbmm(torch.zeros(2, 3, 3, device=device), a, b)
    torch.einsum("bij,bjk->bik", a, b) @ a[0]
    torch.addmm(torch.zeros(3, device=device), a[0], b[0])


@pytest.mark.filterwarnings("ignore::torch_neuron_sim.FallbackWarning")
def test_products() -> None:
    assert count(products, "neuron") == count(products, "cpu") > 0


@pytest.mark.parametrize("key_heads", [4, 2], ids=["heads", "grouped heads"])
def test_attention_counts_two_products_forward_and_five_backward(key_heads: int) -> None:
    """As torch counts the fused kernels of other devices; it counts CPU's as nothing."""
    batch, heads, length, size = 2, 4, 6, 8
    query = torch.randn(batch, heads, length, size).to("neuron").requires_grad_()
    key = torch.randn(batch, key_heads, length, size).to("neuron").requires_grad_()
    product = 2 * batch * heads * length * length * size
    results: list[Tensor] = []

    def forward(device: str) -> None:
        results.append(scaled_dot_product_attention(query, key, key, enable_gqa=key_heads != heads))

    assert count(forward, "neuron") == 2 * product
    assert count(lambda device: results[0].sum().backward(), "neuron") == 5 * product


def test_counts_by_module() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2)).to("neuron")
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(3, 4, device="neuron"))
    counts = {name: sum(of.values()) for name, of in counter.get_flop_counts().items()}
    assert (counts["Sequential.0"], counts["Sequential.1"], counts["Global"]) == (120, 60, 180)
