"""Errors: the type that CPU raises, one text for each rule, and nothing on the device has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim import neuron

Compare = Callable[..., Any]


def arange() -> Tensor:
    return torch.arange(16.0).reshape(4, 4)


# Each fails on CPU, on a 4 x 4 matrix.
BAD_INPUT: dict[str, Callable[[Tensor], Any]] = {
    "sizes that do not broadcast": lambda x: x + torch.ones(3, device=x.device),
    "sizes that do not multiply": lambda x: x @ torch.ones(3, 3, device=x.device),
    "dtypes that do not multiply": lambda x: x @ x.long(),
    "dimension out of range": lambda x: x.sum(5),
    "boxed, dimension out of range": lambda x: x.argmax(5),
    "bad index": lambda x: x.index_select(0, torch.tensor([9], device=x.device)),
    "bad index by brackets": lambda x: x[torch.tensor([9], device=x.device)],
    "bad gather index": lambda x: x.gather(0, torch.full((1, 1), 7, device=x.device)),
    "bad embedding index": lambda x: torch.embedding(x, torch.tensor([4], device=x.device)),
    "bad target": lambda x: torch.nn.functional.nll_loss(x, torch.tensor([0, 1, 2, 4], device=x.device)),
    "singular matrix": lambda x: torch.linalg.inv(torch.zeros_like(x)),
    "not positive definite": lambda x: torch.linalg.cholesky(-torch.eye(4, device=x.device)),
    "not square": lambda x: torch.linalg.det(x[:3]),
    "float index": lambda x: x.index_select(0, torch.tensor([1.0], device=x.device)),
    "bitwise op on floats": lambda x: x & x,
    "result does not fit in place": lambda x: x.long().add_(0.5),
    "in place with a larger operand": lambda x: x[0].add_(x),
    "no element": lambda x: x[:0].max(),
    "view of incompatible sizes": lambda x: x.t().view(16),
    "reshape": lambda x: x.reshape(5, 5),
    "item of many": lambda x: x.item(),
    "truth of many": lambda x: bool(x),
    "cat of different sizes": lambda x: torch.cat([x, x[:, :2]]),
    "cat of nothing": lambda x: torch.cat([]),
    "negative size": lambda x: torch.empty(-1, device=x.device),
    "convolution channels": lambda x: torch.conv1d(x[None], torch.ones(1, 3, 1, device=x.device)),
    "negative pad": lambda x: torch.nn.functional.pad(x, (-5, 0)),
    "multinomial of negative weights": lambda x: torch.multinomial(x - 99, 2),
    "bernoulli of more than one": lambda x: torch.bernoulli(x + 2),
    "unknown einsum": lambda x: torch.einsum("ij,k->ik", x, x),
}

# Each makes an in-place or out= operator read what it writes to.
OVERLAPS: dict[str, Callable[[Tensor], Any]] = {
    "add to a shifted self": lambda x: x.view(-1)[1:].add_(x.view(-1)[:-1]),
    "out overlaps in part": lambda x: torch.mul(x[:3], 2, out=x[1:]),
    "boxed, out overlaps in part": lambda x: torch.lgamma(x[:3], out=x[1:]),
    "expanded self": lambda x: x[:1].expand(4, 4).add_(1),
    "boxed, expanded self": lambda x: x[:1].expand(4, 4).lgamma_(),
    "expanded out": lambda x: torch.add(x, 1, out=torch.empty(1, 4, device=x.device).expand(4, 4)),
    "index_add_ of itself": lambda x: x.index_add_(0, torch.tensor([0, 1, 2, 3], device=x.device), x),
    "scatter_ of itself": lambda x: x.scatter_(0, torch.zeros(4, 4, dtype=torch.long, device=x.device), x),
    "masked_scatter_ of itself": lambda x: x.masked_scatter_(x > 0, x),
    "gather into its input": lambda x: torch.gather(x, 0, torch.zeros(4, 4, dtype=torch.long, device=x.device), out=x),
    "cat into its input": lambda x: torch.cat([x, x], out=x),
    "index_select into its input": lambda x: torch.index_select(x, 0, torch.arange(4, device=x.device), out=x),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_raises_what_cpu_raises(name: str) -> None:
    function = BAD_INPUT[name]
    with pytest.raises(Exception) as on_cpu:
        function(arange())
    x = arange().to("neuron")
    with pytest.raises(on_cpu.type) as on_neuron:
        function(x)
    assert on_neuron.type is on_cpu.type
    assert str(on_neuron.value).splitlines()[0].replace("neuron:0", "cpu") == str(on_cpu.value).splitlines()[0]
    assert torch.equal(x.cpu(), arange())
    assert torch.equal((x + x).cpu(), arange() * 2)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("name", OVERLAPS)
def test_writing_over_what_is_read_raises_as_on_cpu(name: str, strided: bool) -> None:
    def operand(device: str) -> Tensor:
        return torch.arange(32.0).reshape(4, 8).to(device)[:, ::2] if strided else arange().to(device)

    try:
        OVERLAPS[name](operand("cpu"))
    except RuntimeError as error:
        x = operand("neuron")
        before = x.cpu()
        with pytest.raises(RuntimeError) as caught:
            OVERLAPS[name](x)
        assert str(caught.value) == str(error)
        assert torch.equal(x.cpu(), before)
    else:
        # A dense operand raises in every other case.
        assert strided or name == "masked_scatter_ of itself"
        x, expected = operand("neuron"), operand("cpu")
        OVERLAPS[name](x)
        OVERLAPS[name](expected)
        assert torch.equal(x.cpu(), expected)


@pytest.mark.parametrize("out", [torch.zeros(2), torch.zeros(4, 4), torch.zeros(0)])
def test_out_of_a_failing_op_keeps_its_size_and_values(out: Tensor) -> None:
    x = arange().to("neuron")
    device_out = out.to("neuron")
    with pytest.raises(RuntimeError):
        torch.add(x, torch.ones(3, device="neuron"), out=device_out)
    with pytest.raises(IndexError):
        torch.argmax(x, 7, out=device_out.long())
    assert torch.equal(device_out.cpu(), out)


def test_memory_of_a_failing_kernel_is_given_back(allocated: Callable[..., int]) -> None:
    x = torch.zeros(64, 64, device="neuron")
    before = allocated(), neuron.scratch_stats()["current"]
    for _ in range(3):
        with pytest.raises(torch.linalg.LinAlgError):
            torch.linalg.inv(x)
        with pytest.raises(RuntimeError):
            torch.conv2d(x[None, None], torch.ones(1, 1, 70, 70, device="neuron"))
    assert (allocated(), neuron.scratch_stats()["current"]) == before


def test_error_in_backward_reaches_the_caller_and_later_work_is_right() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient + torch.ones(3, device=gradient.device)

    x = torch.ones(4, device="neuron", requires_grad=True)
    with pytest.raises(RuntimeError, match="must match the size"):
        (Fails.apply(x * 2)).sum().backward()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2] * 4


def test_more_memory_than_the_device_has(allocated: Callable[..., int]) -> None:
    x = torch.ones(1, device="neuron")
    before = allocated()
    huge = x.expand(1 << 38)
    for function in (lambda: huge + 1, lambda: huge.lgamma(), lambda: huge.clone(), lambda: torch.add(huge, 1, out=x)):
        with pytest.raises(torch.OutOfMemoryError, match="neuron"):
            function()
        assert x.shape == (1,)
        assert allocated() == before
        assert (x + 1).item() == 2


@pytest.mark.parametrize("grow", [lambda x: x.resize_(1 << 40), lambda x: x.untyped_storage().resize_(1 << 42)])
def test_growth_beyond_the_device_leaves_the_tensor_as_it_was(grow: Callable[[Tensor], Any]) -> None:
    x = torch.ones(2, device="neuron")
    with pytest.raises(torch.OutOfMemoryError):
        grow(x)
    assert x.shape == (2,)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        lambda x: x + torch.ones(4, 4).to_sparse(),
        lambda x: torch.ones(4, 4).to_sparse().to(x.device),
        lambda x: torch.ones(4, 4).to_sparse_csr().to(x.device),
        lambda x: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8).to(x.device),
        lambda x: x.copy_(torch.ones(4, 4).to_sparse()),
    ],
    ids=["to_sparse", "to_sparse_csr", "quantize", "add sparse", "sparse.to", "csr.to", "quantized.to", "copy_ sparse"],
)
def test_layouts_that_the_device_lacks_give_one_line(function: Callable[[Tensor], Any]) -> None:
    with pytest.raises(NotImplementedError) as caught:
        function(arange().to("neuron"))
    assert len(str(caught.value).splitlines()) == 1
    assert "not supported on neuron" in str(caught.value)
    assert "dense" in str(caught.value)
