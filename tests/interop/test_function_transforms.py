"""torch.func on the device: what CPU can transform it can, with the same bits; the rest is refused in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import torch_neuron_sim

Same = Callable[..., Any]


@pytest.fixture(autouse=True)
def _silent_fallbacks() -> Iterator[None]:
    with torch_neuron_sim.fallback_policy("silent"):
        yield


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def attention(x: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, x, x)


INDEX = torch.tensor([[0, 2], [1, 1], [2, 0]])
BATCHED: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "arithmetic": (lambda x: x.exp() * 2 - x.tanh().pow(2), (drawn(3, 4),)),
    "in place": (lambda x: x.clone().add_(1).mul_(x), (drawn(3, 4),)),
    "reductions": (lambda x: (x.sum(), x.amax(), x.var(), x.softmax(0), x.logsumexp(0)), (drawn(3, 4),)),
    "dot": (torch.dot, (drawn(3, 4), drawn(3, 4))),
    "linear": (F.linear, (drawn(3, 2, 4), drawn(3, 5, 4))),
    "convolution": (F.conv2d, (drawn(3, 1, 2, 6, 6), drawn(3, 4, 2, 3, 3))),
    "pooling": (lambda x: F.max_pool2d(x, 2), (drawn(3, 2, 6, 6),)),
    "normalisation": (lambda x: F.group_norm(F.layer_norm(x, (4,)), 2), (drawn(3, 2, 4, 4),)),
    "rms norm": (lambda x: F.rms_norm(x, (4,)), (drawn(3, 2, 4),)),
    "batch norm": (lambda x: F.batch_norm(x, None, None, training=True), (drawn(3, 5, 2),)),
    "loss": (F.cross_entropy, (drawn(3, 2, 4), INDEX)),
    "embedding": (lambda weight, index: F.embedding(index, weight), (drawn(3, 4, 2), INDEX)),
    "indexing": (lambda x, index: (x[index], x.gather(0, index), x.index_add(0, index, x[:2])), (drawn(3, 4), INDEX)),
    "joining": (lambda x: torch.cat([torch.stack([x, x.flip(0)]), x.repeat(2, 1)]), (drawn(3, 4),)),
    "sorting": (lambda x: (*x.sort(), *x.topk(2), x.argmax(), x.argsort(stable=True)), (drawn(3, 4),)),
    "factories": (lambda x: torch.eye(4, device=x.device) + torch.arange(4, device=x.device) + x, (drawn(3, 4, 4),)),
    "padding": (lambda x: F.pad(x, (1, 1)), (drawn(3, 4),)),
    "factorisation": (torch.linalg.inv, (drawn(3, 4, 4),)),
    "fourier": (lambda x: torch.view_as_real(torch.fft.rfft(x)), (drawn(3, 8),)),
    "one hot": (lambda index: F.one_hot(index, 4), (INDEX,)),
    "attention": (attention, (drawn(3, 1, 2, 5, 4),)),
    "attention of gradients": (grad(lambda x: attention(x).sum()), (drawn(3, 1, 2, 5, 4),)),
}


@pytest.mark.parametrize("case", BATCHED)
def test_batched_as_on_cpu(case: str, same_as_cpu: Same) -> None:
    function, arguments = BATCHED[case]
    same_as_cpu(vmap(function), *arguments)


def test_two_batch_dimensions_chunks_and_places(same_as_cpu: Same) -> None:
    same_as_cpu(vmap(vmap(torch.mul, (0, None)), (None, 0), out_dims=1), drawn(3, 4), drawn(2, 4))
    same_as_cpu(vmap(torch.sin, in_dims=1, out_dims=-1, chunk_size=2), drawn(3, 5))


@pytest.mark.parametrize("draw", [torch.rand_like, lambda x: F.dropout(x, 0.5)], ids=["uniform", "dropout"])
@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers(randomness: str, draw: Callable[[Tensor], Tensor], same_as_cpu: Same) -> None:
    same_as_cpu(vmap(lambda x: draw(torch.full_like(x, 0.5)), randomness=randomness), drawn(3, 8))


DERIVED: dict[str, tuple[Callable[[Tensor], Tensor], Tensor]] = {
    "linear": (lambda x: F.linear(x, torch.ones(3, 4, device=x.device)).pow(3), drawn(2, 4)),
    "convolution": (lambda x: F.conv1d(x, torch.ones(1, 2, 2, device=x.device)).pow(3), drawn(1, 2, 4)),
    "layer norm": (lambda x: F.layer_norm(x, (4,)), drawn(2, 4)),
    "softmax": (lambda x: x.softmax(-1).log(), drawn(2, 4)),
}


@pytest.mark.parametrize("transform", [jacrev, jacfwd, hessian], ids=lambda f: f.__name__)
@pytest.mark.parametrize("case", DERIVED)
def test_derivatives_as_on_cpu(case: str, transform: Callable[..., Any], same_as_cpu: Same) -> None:
    function, x = DERIVED[case]
    same_as_cpu(transform(function), x)


def test_attention_in_reverse_mode(same_as_cpu: Same) -> None:
    same_as_cpu(jacrev(attention), drawn(1, 1, 3, 4))


def test_attention_with_a_mask_and_a_second_batch_dimension() -> None:
    q, mask = drawn(3, 2, 1, 2, 5, 4), torch.tensor([[True] * 5, [True, True, True, False, False]])

    def masked(q: Tensor, mask: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, q, q, attn_mask=mask.expand(5, 5))

    on_device = vmap(vmap(masked, (0, 0)), (0, None))(q.to("neuron"), mask.to("neuron"))
    assert on_device.device.type == "neuron"
    each = [[masked(q[i, j], mask[j]) for j in range(2)] for i in range(3)]
    assert torch.equal(on_device.cpu(), torch.stack([torch.stack(row) for row in each]))


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_dropout_of_batched_attention(randomness: str) -> None:
    def dropped(x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

    x = drawn(1, 1, 2, 5, 4).expand(2, 1, 2, 5, 4).to("neuron")
    first, second = vmap(dropped, randomness=randomness)(x)
    assert torch.equal(first, second) == (randomness == "same")
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(dropped)(x)


def test_gradient_of_batched_attention_with_dropout_uses_the_mask_of_the_forward_pass() -> None:
    def total(x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.5).square().sum()

    x = drawn(2, 1, 2, 5, 4).to("neuron")
    torch.manual_seed(0)
    together = vmap(grad(total), randomness="different")(x)
    torch.manual_seed(0)
    assert torch.equal(together, torch.stack([grad(total)(each) for each in x]))


def test_linearize_and_functional_call(same_as_cpu: Same) -> None:
    same_as_cpu(lambda x, t: linearize(torch.sin, x)[1](t), drawn(3), drawn(3))
    layer = nn.Linear(4, 2)
    same_as_cpu(
        lambda w, b, x: functional_call(layer, {"weight": w, "bias": b}, (x,)), drawn(2, 4), drawn(2), drawn(3, 4)
    )


@pytest.mark.parametrize("case", ["attention", "GRU", "LSTM"])
def test_forward_mode_through_fused_operators_names_them(case: str) -> None:
    layer = attention if case == "attention" else getattr(nn, case)(4, 3).to("neuron")
    x = drawn(1, 1, 3, 4).to("neuron") if case == "attention" else drawn(3, 1, 4).to("neuron")
    with pytest.raises(NotImplementedError, match=r"Trying to use forward AD with \w+ that does not support it"):
        jvp(layer, (x,), (x,))


def test_forward_mode_through_attention_works_in_its_math_form(same_as_cpu: Same) -> None:
    with sdpa_kernel(SDPBackend.MATH):
        same_as_cpu(jacfwd(attention), drawn(1, 1, 3, 4))


REFUSED: dict[str, Callable[[Tensor], Any]] = {
    "a value": lambda x: x * x.sum().item(),
    "a branch": lambda x: x if x.sum() > 0 else -x,
    "a size that depends on values": lambda x: x.nonzero(),
    "numbers without a choice of randomness": lambda x: x + torch.rand_like(x),
    "a foreach operator": lambda x: torch._foreach_add([x], 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_vmap_refuses_it_refuses_with_the_text_of_cpu(case: str) -> None:
    texts = []
    for device in ("cpu", "neuron"):
        with pytest.raises(RuntimeError) as caught:
            vmap(REFUSED[case])(drawn(3, 4).to(device))
        texts.append(str(caught.value))
    assert texts[1] == texts[0]
    assert re.search("vmap|atching rule", texts[1])
