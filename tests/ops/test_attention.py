"""Scaled dot-product attention, which runs as one op of its own with the values of CPU: of CPU's flash kernel where CPU
takes that, of its matrix products and softmax elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

import torch_neuron_sim

SameAsCpu = Callable[..., Any]

ATTENTION = "aten::_scaled_dot_product_fused_attention_overrideable"


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def randn(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = True) -> Tensor:
    return torch.randn(*shape, dtype=dtype).requires_grad_(grad)


def attend(**options: Any) -> Callable[..., Tensor]:
    return lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, mask, **options)


def heads(*shape: int, dtype: torch.dtype) -> list[Tensor]:
    batch, count, queries, keys, size = shape
    return [randn(batch, count, length, size, dtype=dtype) for length in (queries, keys, keys)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dropout_p", [0.0, 0.25, 1.0])
@pytest.mark.parametrize(("queries", "keys", "size"), [(33, 47, 16), (200, 130, 64), (1, 7, 5)])
def test_attention(
    same_as_cpu: SameAsCpu, dtype: torch.dtype, dropout_p: float, queries: int, keys: int, size: int
) -> None:
    q, k, v = heads(2, 4, queries, keys, size, dtype=dtype)
    few = [randn(2, 2, keys, size, dtype=dtype) for _ in range(2)]
    allowed = torch.rand(queries, keys) > 0.3
    allowed[0] = False  # a query that may attend to nothing
    same_as_cpu(attend(dropout_p=dropout_p), q, k, v)
    assert ATTENTION in torch_neuron_sim.get_executed_ops()
    same_as_cpu(attend(dropout_p=dropout_p, is_causal=True), q, k, v)
    for scale in (0.3, -0.3):
        same_as_cpu(attend(dropout_p=dropout_p, scale=scale), q, k, v)
    for mask in (allowed, torch.rand(2, 1, queries, keys) > 0.3):
        same_as_cpu(attend(dropout_p=dropout_p), q, k, v, mask)
    for shape, grad in itertools.product([(queries, keys), (2, 4, queries, keys), (1, 4, 1, keys)], [False, True]):
        same_as_cpu(attend(dropout_p=dropout_p), q, k, v, randn(*shape, dtype=dtype, grad=grad))
    same_as_cpu(attend(dropout_p=dropout_p, enable_gqa=True), q, *few)
    same_as_cpu(attend(dropout_p=dropout_p, enable_gqa=True, is_causal=True), q, *few)
    same_as_cpu(attend(dropout_p=dropout_p), q, k, randn(2, 4, keys, 2 * size, dtype=dtype))
    same_as_cpu(attend(dropout_p=dropout_p), q, *(randn(1, 4, keys, size, dtype=dtype) for _ in range(2)))
    for wanted in range(3):
        some = [t.detach().requires_grad_(i == wanted) for i, t in enumerate((q, k, v))]
        same_as_cpu(attend(dropout_p=dropout_p), *some)
    same_as_cpu(attend(dropout_p=dropout_p), *(t.detach().mT.contiguous().mT.requires_grad_() for t in (q, k, v)))
    same_as_cpu(lambda *a: attend(dropout_p=dropout_p)(*a).sum(), q, k, v)


def test_attention_dropout_draws_as_on_cpu(same_as_cpu: SameAsCpu) -> None:
    def draw_around(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        first = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
        return first, F.scaled_dot_product_attention(q, k, v, dropout_p=0.5) + torch.rand(8).to(q.device)

    first, second = same_as_cpu(draw_around, *heads(2, 2, 16, 16, 8, dtype=torch.float32))
    assert not torch.equal(first, second)


def test_attention_gradient_leaves_the_generator_alone() -> None:
    output = attend(dropout_p=0.5)(*(t.to("neuron") for t in heads(1, 2, 8, 8, 4, dtype=torch.float32)))
    state = torch.get_rng_state()
    output.sum().backward()
    assert torch.equal(torch.get_rng_state(), state)


def test_attention_beyond_the_op(same_as_cpu: SameAsCpu) -> None:
    """Other ranks and sizes, and math alone when the user asks for it, take the ordinary ops."""
    three = [randn(2, 5, 4) for _ in range(3)]
    same_as_cpu(attend(), *three)
    empty = [randn(1, 2, 0, 4), randn(1, 2, 5, 4), randn(1, 2, 5, 4)]
    same_as_cpu(attend(), *empty)
    with sdpa_kernel(SDPBackend.MATH):
        same_as_cpu(attend(), *heads(1, 2, 3, 3, 4, dtype=torch.float32))
    assert ATTENTION not in torch_neuron_sim.get_executed_ops()


@pytest.mark.parametrize(
    ("q", "k", "options"),
    [
        ((1, 4, 2, 2), (1, 3, 2, 2), {"enable_gqa": True}),
        ((1, 4, 2, 2), (1, 2, 2, 2), {}),
        ((1, 1, 2, 2), (1, 1, 2, 3), {}),
        ((1, 1, 2, 2), (1, 1, 2, 2), {"dropout_p": 1.5}),
        ((1, 1, 2, 2), (1, 1, 2, 2), {"dropout_p": 0.5, "is_causal": True, "attn_mask": torch.zeros(2, 2)}),
        ((1, 1, 2, 2), (1, 1, 2, 2), {"attn_mask": torch.zeros(3, 2)}),
    ],
)
def test_attention_errors_are_those_of_cpu(q: tuple[int, ...], k: tuple[int, ...], options: dict[str, Any]) -> None:
    messages = []
    for device in ("cpu", "neuron"):
        on_device: dict[str, Any] = {name: x.to(device) if isinstance(x, Tensor) else x for name, x in options.items()}
        query, key = torch.ones(q, device=device), torch.ones(k, device=device)
        with pytest.raises(RuntimeError) as raised:
            F.scaled_dot_product_attention(query, key, key, **on_device)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_attention_has_no_second_gradient() -> None:
    for device in ("cpu", "neuron"):
        q = torch.randn(1, 2, 4, 8, device=device, requires_grad=True)
        (grad,) = torch.autograd.grad(F.scaled_dot_product_attention(q, q, q).sum(), q, create_graph=True)
        with pytest.raises(RuntimeError, match="is not implemented"):
            grad.sum().backward()


def test_attention_refuses_a_debug_mask() -> None:
    q = torch.ones(1, 1, 2, 2, device="neuron")
    with pytest.raises(RuntimeError, match="return_debug_mask=True is not supported"):
        torch.ops.aten._scaled_dot_product_fused_attention_overrideable(q, q, q, None, 0.0, False, True)
