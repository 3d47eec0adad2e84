"""Arguments at the edge: absent, empty, of no elements, of many dimensions, lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Compare = Callable[..., Any]


def test_absent_optional_tensors(same_as_cpu: Compare) -> None:
    x = torch.randn(2, 3, 5, requires_grad=True)
    weight = torch.randn(4, 3, 2, requires_grad=True)
    functional = torch.nn.functional
    same_as_cpu(lambda x, w: torch.conv1d(x, w, None), x, weight)
    same_as_cpu(lambda x: functional.batch_norm(x, None, None, training=True), x)
    same_as_cpu(lambda x: functional.layer_norm(x, (5,), None, None), x)
    same_as_cpu(lambda x: functional.group_norm(x, 3, None, None), x)
    same_as_cpu(lambda x: functional.linear(x, x[0]), x)
    same_as_cpu(lambda x: functional.cross_entropy(x, torch.ones_like(x).softmax(1), weight=None), x)
    same_as_cpu(lambda x: x.clamp(None, torch.ones((), device=x.device)), x)
    same_as_cpu(lambda x: torch.searchsorted(x.detach().sort()[0], x.detach(), sorter=None), x)
    same_as_cpu(lambda x: torch.histc(x.detach()), x)
    same_as_cpu(lambda x: x[None, :, torch.tensor([0, 1], device=x.device)], x)


def test_undefined_gradients(same_as_cpu: Compare) -> None:
    # Some outputs have no gradient, some inputs need none.
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)
    same_as_cpu(lambda x, y: (x * y).topk(2)[0], x, y)
    same_as_cpu(lambda x, y: torch.nn.functional.layer_norm(x, (4,), y[0], y[1]), x, y)
    same_as_cpu(lambda x, y: torch.conv1d(x[None], y[:1, :3, None].expand(2, 3, 1)), x, y)
    same_as_cpu(lambda x, y: torch.linalg.svd(x)[1], x, y)


def test_lists(same_as_cpu: Compare) -> None:
    tensors = [torch.randn(2, 3, requires_grad=True) for _ in range(20)]
    same_as_cpu(lambda *t: torch.cat(list(t)), *tensors)
    same_as_cpu(lambda *t: torch.stack(list(t), 1), *tensors)
    same_as_cpu(lambda *t: torch.cat([*t[:2], torch.empty(0, device=t[0].device)]), *tensors)
    same_as_cpu(lambda *t: torch._foreach_add([u.detach() for u in t], 1), *tensors)
    same_as_cpu(lambda *t: torch._foreach_norm([u.detach() for u in t]), *tensors)
    same_as_cpu(lambda *t: torch.block_diag(*t[:3]), *tensors)
    same_as_cpu(lambda *t: torch.einsum("ij,ij,kj->k", *t[:3]), *tensors)
    same_as_cpu(lambda *t: torch.meshgrid([u[0] for u in t[:3]], indexing="ij"), *tensors)


def test_empty_lists_do_nothing() -> None:
    # CPU refuses them in the same words.
    for function in (torch._foreach_add_, torch._foreach_mul, torch._foreach_neg):
        arguments: tuple[Any, ...] = ([], 1) if function is not torch._foreach_neg else ([],)
        with pytest.raises(RuntimeError, match="at least one tensor"):
            function(*arguments)
    assert torch.nn.utils.clip_grad_norm_([], 1.0).item() == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: x @ x.mT,
        lambda x: x.sum(),
        lambda x: x.sum(-1),
        lambda x: x.mean(0),
        lambda x: x.prod(1),
        lambda x: x.cumsum(0),
        lambda x: x.sort()[1],
        lambda x: x.softmax(-1),
        lambda x: x.lgamma(),
        lambda x: torch.cat([x, x], 1),
        lambda x: x.nonzero(),
        lambda x: x.detach().unique(),
        lambda x: x.flip(0).t(),
        lambda x: x.clone().fill_(3),
        lambda x: x.new_ones(2, 0, 4).any(1),
        lambda x: torch.nn.functional.pad(x, (1, 1)),
        lambda x: torch.linalg.norm(x),
        lambda x: torch.nn.functional.mse_loss(x, x),
        lambda x: torch.empty_like(x).normal_(),
        lambda x: torch.where(x > 0, x, -x),
        lambda x: x.index_select(1, torch.empty(0, dtype=torch.long, device=x.device)),
    ],
)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_elements(same_as_cpu: Compare, function: Callable[[Tensor], Any], shape: tuple[int, int]) -> None:
    same_as_cpu(function, torch.empty(shape, requires_grad=True))


@given(shape=st.lists(st.integers(0, 3), max_size=9), data=st.data())
def test_any_number_of_dimensions(same_as_cpu: Compare, shape: list[int], data: st.DataObject) -> None:
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    same_as_cpu(lambda x: [x * 2 + x, x.lgamma(), x.sum(), x.clone().add_(1)], x)
    order = data.draw(st.permutations(range(len(shape))))
    same_as_cpu(lambda x: [x.permute(order) - 1, x.permute(order).contiguous(), x.permute(order).lgamma()], x)


def test_more_arguments_than_fit_inline(same_as_cpu: Compare) -> None:
    # The launch has room for 12 tensors without allocating.
    def update(*tensors: Tensor) -> list[Tensor]:
        groups = [list(tensors[i : i + 15]) for i in range(0, 75, 15)]
        steps = [torch.zeros((), device=tensors[0].device) for _ in range(15)]
        torch._fused_adamw_(
            *groups, steps, lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=True, maximize=False
        )
        return list(tensors)

    same_as_cpu(update, *[torch.rand(3, 2) for _ in range(75)])


def test_scalars_of_every_python_type(same_as_cpu: Compare) -> None:
    for x in (torch.arange(4), torch.arange(4.0), torch.arange(4, dtype=torch.uint8), torch.arange(4).half()):
        for scalar in (True, 2, 2.5, 1j, float("nan"), float("inf")):
            same_as_cpu(lambda x, s=scalar: [x + s, s * x, x == s, 1 + x * s], x)
        for scalar in (-2.0, -0.0, 3):
            same_as_cpu(lambda x, s=scalar: [torch.copysign(x, s), torch.xlogy(x, s), torch.pow(2.0, x), s - x], x)
            same_as_cpu(lambda x, s=scalar: [torch.where(x > 1, x, s), torch.full_like(x, abs(s)), torch.rsub(x, s)], x)
