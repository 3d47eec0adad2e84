"""Chains of views, what they share, and writes through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

Same = Callable[..., None]
Step = tuple[str, int, int, int]


def dim_of(x: Tensor, number: int) -> int:
    return number % x.dim() if x.dim() else number % 2  # 1 is no dimension of a 0-dim tensor: raises


def side_of(x: Tensor, number: int) -> int:
    return x.shape[dim_of(x, number)] if x.dim() else 1


VIEWS: dict[str, Callable[[Tensor, int, int, int], Tensor]] = {
    "transpose": lambda x, a, b, c: x.transpose(dim_of(x, a), dim_of(x, b)),
    "permute": lambda x, a, b, c: x.permute([(d + a) % x.dim() for d in range(x.dim())]),
    "movedim": lambda x, a, b, c: x.movedim(dim_of(x, a), dim_of(x, b)),
    "select": lambda x, a, b, c: x.select(dim_of(x, a), b % (side_of(x, a) + 1)),
    "narrow": lambda x, a, b, c: x.narrow(dim_of(x, a), b % (side_of(x, a) + 1), c % 3),
    "slice": lambda x, a, b, c: x[b % 3 :: c % 3 + 1],
    "unsqueeze": lambda x, a, b, c: x.unsqueeze(a % (x.dim() + 1)),
    "squeeze": lambda x, a, b, c: x.squeeze(),
    "squeeze one": lambda x, a, b, c: x.squeeze(dim_of(x, a)),
    "expand": lambda x, a, b, c: x[None].expand(b % 3, *x.shape),
    "expand ones": lambda x, a, b, c: x.expand([2 if side == 1 else -1 for side in x.shape]),
    "view": lambda x, a, b, c: x.view(-1),
    "view of sizes": lambda x, a, b, c: x.view(b % 4 + 1, -1),
    "reshape": lambda x, a, b, c: x.reshape(-1, b % 3 + 1),
    "flatten": lambda x, a, b, c: x.flatten(dim_of(x, a)),
    "unflatten": lambda x, a, b, c: x.unflatten(dim_of(x, a), (-1, b % 3 + 1)),
    "diagonal": lambda x, a, b, c: x.diagonal(c % 3 - 1, dim_of(x, a), dim_of(x, b)),
    "unfold": lambda x, a, b, c: x.unfold(dim_of(x, a), b % 4, c % 3),
    "as_strided": lambda x, a, b, c: x.as_strided((a % 3, 2), (b % 3, 1), None if c % 2 else 1),
    "split": lambda x, a, b, c: x.split(b % 3 + 1, dim_of(x, a))[-1],
    "unbind": lambda x, a, b, c: x.unbind(dim_of(x, a))[0],
    "detach": lambda x, a, b, c: x.detach(),
    "alias": lambda x, a, b, c: torch.ops.aten.alias(x),
    "bytes": lambda x, a, b, c: x.view(torch.uint8),
    "other dtype": lambda x, a, b, c: x.view([torch.int32, torch.float64, torch.float16, torch.bool][b % 4]),
    "real": lambda x, a, b, c: torch.view_as_real(x),
    "complex": lambda x, a, b, c: torch.view_as_complex(x),
    "imaginary part": lambda x, a, b, c: x.imag,
    "conj": lambda x, a, b, c: x.conj(),
    "mT": lambda x, a, b, c: x.mT,
    "data": lambda x, a, b, c: x.data,
    "flip": lambda x, a, b, c: x.flip(dim_of(x, a)),  # a copy
}
WRITES: dict[str, Callable[[Tensor], Tensor]] = {
    "add": lambda x: x.add_(1),
    "fill": lambda x: x.fill_(1),
    "fallback": lambda x: x.lgamma_(),
    "copy": lambda x: x.copy_(x.clone().flip(0)),
    "transpose": lambda x: x.t_(),
    "squeeze": lambda x: x.squeeze_(),
    "random": lambda x: x.normal_(),
    "subscript": lambda x: x[..., 0].zero_(),
}
numbers = st.integers(0, 11)
steps = st.lists(st.tuples(st.sampled_from(sorted(VIEWS)), numbers, numbers, numbers), min_size=1, max_size=5)


def walk(x: Tensor, chain: list[Step]) -> list[Tensor]:
    """The views along a chain; a step that cannot be taken is left out, and shows in the count."""
    made = [x]
    for name, *arguments in chain:
        try:
            made.append(VIEWS[name](made[-1], *arguments))
        except (RuntimeError, IndexError, ZeroDivisionError):
            made.append(made[-1].new_zeros(()))
            made.append(made[-2])
    return made


@given(data=st.data())
def test_views(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, chain = data.draw(inputs.tensors(special=False)), data.draw(steps)
    same(lambda x: walk(x, chain), x)


@given(data=st.data())
def test_one_step_raises_what_the_cpu_raises(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, (name, *arguments) = data.draw(inputs.tensors(special=False)), data.draw(steps)[0]
    same(lambda x: VIEWS[name](x, *arguments), x)


@given(data=st.data())
def test_writes_through_the_last_view(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, chain = data.draw(inputs.tensors(special=False)), data.draw(steps)
    write = WRITES[data.draw(st.sampled_from(sorted(WRITES)))]

    def run(x: Tensor) -> list[Tensor]:
        made = walk(x, chain)
        return [write(made[-1]), *made]

    same(run, x)


@given(data=st.data())
def test_gradients_through_views(same: Same, inputs: Any, data: st.DataObject) -> None:
    x = data.draw(inputs.tensors(dtypes=inputs.FLOATS, special=False)).requires_grad_()
    chain = [step for step in data.draw(steps) if step[0] not in ("bytes", "other dtype", "as_strided")]
    same(lambda x: walk(x * 2, chain)[-1] * 3, x)


@given(data=st.data())
def test_a_view_is_read_by_kernels(same: Same, inputs: Any, data: st.DataObject) -> None:
    x, chain = data.draw(inputs.tensors(special=False)), data.draw(steps)
    for function in (torch.clone, torch.sum, torch.lgamma, lambda v: v + v, lambda v: v.to(torch.float64)):
        same(lambda x, function=function: function(walk(x, chain)[-1]), x)
