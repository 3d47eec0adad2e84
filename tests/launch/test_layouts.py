"""Strides, offsets, memory formats, and conj and neg bits survive the launch in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Compare = Callable[..., Any]

VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.transpose(1, 3),
    "permuted": lambda x: x.permute(2, 0, 3, 1),
    "every other": lambda x: x[:, :, ::2],
    "offset": lambda x: x[1:, 1:, 1:, 1:],
    "flipped": lambda x: x.flip(1, 3),
    "expanded": lambda x: x[:1].expand(3, -1, -1, -1),
    "expanded within": lambda x: x[..., :1].expand(-1, -1, -1, 5),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "channels last, one channel": lambda x: x[:, :1].contiguous(memory_format=torch.channels_last),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "unfolded": lambda x: x.unfold(2, 2, 1),
    "row": lambda x: x[0, 1, 2],
    "element": lambda x: x[0, 1, 2, 3],
    "overlapping": lambda x: x.as_strided((3, 4, 3), (2, 1, 4), 1),
}
FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "native": lambda x: [x + x, x * 2, x.relu(), x.exp(), x.clone(), torch.empty_like(x).shape],
    "native reductions": lambda x: [x.sum(), x.sum(-1), x.amax(-1), x.mean(0) if x.dim() else x, x.softmax(-1)],
    "fallback": lambda x: [x.lgamma(), x.frac(), x.digamma(), x.argmax(-1), x.sort(-1)[0], x.cumprod(-1)],
    "copies": lambda x: [x.contiguous(), x.double(), x.to(torch.int32), torch.zeros_like(x), x.reshape(-1)],
    "two orders": lambda x: [x + x.contiguous(), torch.atan2(x.contiguous(), x), torch.where(x > 0, x.contiguous(), x)],
}


def tensor(shape: tuple[int, ...] = (3, 4, 5, 4)) -> Tensor:
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).sub(100).div(7)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_and_their_strides_are_those_of_cpu(same_as_cpu: Compare, function: str, view: str) -> None:
    same_as_cpu(FUNCTIONS[function], VIEWS[view](tensor()))


WRITABLE = [name for name in VIEWS if name not in ("expanded", "expanded within", "overlapping", "unfolded")]


@pytest.mark.parametrize("view", WRITABLE)
def test_in_place_writes_only_the_view(same_as_cpu: Compare, view: str) -> None:
    def write(base: Tensor) -> Tensor:
        VIEWS[view](base).mul_(3)
        VIEWS[view](base).lgamma_()
        VIEWS[view](base).fill_(2)
        VIEWS[view](base).normal_()
        return base

    same_as_cpu(write, tensor())


@pytest.mark.parametrize(
    "function",
    [
        torch.nn.functional.relu,
        lambda x: torch.nn.functional.max_pool2d(x, 2),
        lambda x: torch.nn.functional.avg_pool2d(x, 2),
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2),
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
        # Its gradient is contiguous on every device but the CPU: so says PyTorch's derivative.
        lambda x: torch.nn.functional.group_norm(x.detach(), 2),
        lambda x: torch.conv2d(x, torch.ones(4, 4, 2, 2, device=x.device)),
        lambda x: torch.nn.functional.pad(x, (1, 1)),
        lambda x: x + x.mean((2, 3), keepdim=True),
        lambda x: torch.cat([x, x], 1),
        lambda x: x.to(torch.float16),
        lambda x: torch.nn.functional.pixel_shuffle(x, 2),
    ],
)
def test_channels_last_is_kept_where_cpu_keeps_it(same_as_cpu: Compare, function: Callable[[Tensor], Tensor]) -> None:
    x = tensor((2, 4, 6, 6)).contiguous(memory_format=torch.channels_last).requires_grad_()
    same_as_cpu(function, x)
    same_as_cpu(function, x.detach().contiguous().requires_grad_())


def test_channels_last_3d(same_as_cpu: Compare) -> None:
    x = tensor((2, 3, 4, 4, 4)).contiguous(memory_format=torch.channels_last_3d).requires_grad_()
    same_as_cpu(lambda x: [x * 2, torch.conv3d(x, torch.ones(2, 3, 2, 2, 2, device=x.device)), x.lgamma()], x)


def test_memory_format_of_a_device_tensor_is_known_to_it() -> None:
    x = torch.empty(2, 3, 4, 5, device="neuron", memory_format=torch.channels_last)
    for result in (x + 1, x.lgamma(), torch.empty_like(x), x.clone()):
        assert result.is_contiguous(memory_format=torch.channels_last)
        assert not result.is_contiguous()


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    strides=st.lists(st.integers(0, 6), min_size=4, max_size=4),
    offset=st.integers(0, 5),
)
def test_any_strides(same_as_cpu: Compare, shape: list[int], strides: list[int], offset: int) -> None:
    x = torch.arange(100.0).as_strided(shape, strides[: len(shape)], offset)
    same_as_cpu(lambda x: [x + 1, x.sum(), x.frac(), x.clone(), x.contiguous(), x @ x.mT if x.dim() > 1 else x @ x], x)


# Views that carry the conj or neg bit.
BITS: dict[str, Callable[[Tensor], Tensor]] = {
    "conj": lambda z: z.conj(),
    "conj of a transpose": lambda z: z.mH,
    "neg": lambda z: torch._neg_view(z),
    "imaginary part of conj": lambda z: z.conj().imag,
    "conj and neg": lambda z: torch._neg_view(z.conj()),
}


@pytest.mark.parametrize("bit", BITS)
def test_conj_and_neg_views(same_as_cpu: Compare, bit: str) -> None:
    def use(z: Tensor) -> list[Any]:
        view = BITS[bit](z)
        assert view.is_conj() or view.is_neg()
        return [view, view * 2, view @ view, view.sum(), view.clone(), view.resolve_conj(), view.resolve_neg(), view[0]]

    def write(z: Tensor) -> Tensor:
        view = BITS[bit](z)
        view.add_(1)
        view[0] = 3
        view.copy_(view.clone() * 2)
        return z

    z = torch.randn(3, 3, dtype=torch.complex64)
    same_as_cpu(use, z)
    same_as_cpu(write, z)


def test_out_argument_with_a_conj_bit(same_as_cpu: Compare) -> None:
    z, out = torch.randn(3, 3, dtype=torch.complex64), torch.zeros(3, 3, dtype=torch.complex64)
    same_as_cpu(lambda z, out: [torch.mul(z, 2, out=out.conj()), out], z, out)
    same_as_cpu(lambda z, out: [torch.mm(z, z, out=torch._neg_view(out)), out], z, out)


def test_copies_of_conj_views_between_devices() -> None:
    z = torch.randn(3, 4, dtype=torch.complex64)
    conjugate = z.to("neuron").conj()
    assert torch.equal(conjugate.cpu(), z.conj())
    assert torch.equal(z.conj().to("neuron").cpu(), z.conj())
    assert torch.equal(conjugate.to("neuron:1").cpu(), z.conj())
    assert conjugate[1, 2].item() == z[1, 2].conj().item()
    assert torch.equal(torch.empty(3, 4, dtype=torch.complex64).copy_(conjugate), z.conj())


def test_nested_tensors_run_what_cpu_runs_on_them() -> None:
    rows = [torch.randn(2, 4), torch.randn(3, 4)]
    on_cpu = torch.nested.nested_tensor(rows)
    on_neuron = torch.nested.nested_tensor([row.to("neuron") for row in rows])
    layer = torch.nn.Linear(4, 2)
    functions: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda n: n + n,
        lambda n: n * 2,
        lambda n: n.relu(),
        lambda n: n.softmax(-1),
        lambda n: torch.nn.functional.linear(n, layer.weight.to(n.device), layer.bias.to(n.device)),
    )
    for function in functions:
        found, expected = function(on_neuron), function(on_cpu)
        assert found.is_nested
        assert found.device.type == "neuron"
        assert torch.equal(found.to_padded_tensor(0.0).cpu(), expected.to_padded_tensor(0.0))
        for one, other in zip(found.unbind(), expected.unbind(), strict=True):
            assert torch.equal(one.cpu(), other)
    with pytest.raises(NotImplementedError):
        on_neuron.lgamma()
