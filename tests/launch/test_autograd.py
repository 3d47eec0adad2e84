"""What sits above the launch: version counters, inference mode, forward-mode AD and torch.func."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

Compare = Callable[..., Any]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.lgamma_(),
        lambda x: x.fill_(1),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: x.normal_(),
        lambda x: x[0].zero_(),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: torch.sin(x.clone(), out=x),
        lambda x: torch.lgamma(x.clone(), out=x),
        lambda x: torch._foreach_add_([x], 1),
        lambda x: torch._foreach_mul_([x], [torch.ones(3, device=x.device)]),
        lambda x: torch._foreach_lgamma_([x]),
        lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(1.0)),
        lambda x: x.resize_(3),
    ],
)
def test_writes_are_counted_as_on_cpu(write: Callable[[Tensor], Any]) -> None:
    on_cpu, on_neuron = torch.ones(3), torch.ones(3, device="neuron")
    view = on_neuron.view(3)
    for x in (on_cpu, on_neuron):
        start = x._version
        write(x)
        write(x)
        assert x._version - start == on_cpu._version
    assert view._version == on_neuron._version


def test_reading_is_not_counted_as_writing() -> None:
    x = torch.ones(3, device="neuron")
    x.add(1), x.lgamma(), x.sum(), x.sort(), x.cpu(), x.clone(), torch.cat([x, x]), x[0].item()
    assert x._version == 0


@pytest.mark.parametrize("write", [lambda y: y.mul_(2), lambda y: y.frac_()], ids=["native", "fallback"])
def test_writing_over_what_backward_needs_raises(write: Callable[[Tensor], Any]) -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    y = x.exp()
    write(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_step_of_an_optimizer_counts_as_writing() -> None:
    weight = torch.ones(3, device="neuron", requires_grad=True)
    loss = weight.square().sum()
    loss.backward(retain_graph=True)
    torch.optim.SGD([weight], lr=0.1, foreach=True).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_writing_to_a_leaf_raises() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.add_(1)
    assert x.tolist() == [1, 1, 1]


def test_inference_mode() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    with torch.inference_mode():
        results = [x * 2, x.lgamma(), x.sum(), torch.cat([x, x]), torch.ones(2, device="neuron"), x.cpu(), x.sort()[0]]
        results[0].add_(1)
    for result in results:
        assert result.is_inference()
        assert not result.requires_grad
    assert results[0].tolist() == [3, 3, 3]
    assert not x.is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        results[0] * x
    assert (results[0].clone() * x).requires_grad


def test_no_grad_and_detach() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        x.add_(1)
    detached = x.detach()
    assert detached.data_ptr() == x.data_ptr()
    assert not detached.requires_grad


def function(x: Tensor) -> Tensor:
    """Native ops, fallbacks, views and reductions with second derivatives."""
    y = torch.tanh(x @ x.mT) + torch.special.erfcx(x[0]).sum()
    return (y[1:] * torch.atan2(y[1:], y[:-1].cos())).square().sum() + x.prod()


def test_reverse_and_double_backward(same_as_cpu: Compare) -> None:
    x = torch.randn(3, 4)
    same_as_cpu(lambda x: grad(function)(x), x)
    same_as_cpu(lambda x: vjp(lambda x: x.softmax(-1) * 2, x)[1](torch.ones_like(x)), x)

    # PyTorch numbers the nodes that backward makes for each thread, and sums gradients in that order.
    def twice(x: Tensor) -> Tensor:
        return grad(lambda x: grad(function)(x).square().sum())(x)

    torch.testing.assert_close(twice(x.to("neuron")).cpu(), twice(x))


def test_forward_mode(same_as_cpu: Compare) -> None:
    x, tangent = torch.randn(3, 4), torch.randn(3, 4)
    same_as_cpu(lambda x, t: jvp(function, (x,), (t,)), x, tangent)
    same_as_cpu(lambda x: jacfwd(lambda x: x.exp().sum(0))(x), x)
    same_as_cpu(lambda x: jacrev(lambda x: x.exp().sum(0))(x), x)


def test_jacobians_agree_with_each_other_and_with_cpu() -> None:
    x = torch.randn(2, 3)
    expected = hessian(function)(x)
    torch.testing.assert_close(hessian(function)(x.to("neuron")).cpu(), expected)
    torch.testing.assert_close(jacrev(jacrev(function))(x.to("neuron")).cpu(), expected)


def test_zero_tangents(same_as_cpu: Compare) -> None:
    # A tangent of zeros has no memory: kernels must never be given one.
    def dual(x: Tensor, t: Tensor) -> list[Any]:
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, t)
            constant = torch.ones_like(x)
            results = [y * constant, torch.where(x > 0, y, constant), torch.cat([y, constant]), y.lgamma() + constant]
            z = torch.view_as_complex(torch.stack([y, constant], -1))
            return [list(forward_ad.unpack_dual(result)) for result in (*results, torch.view_as_real(z))]

    same_as_cpu(dual, torch.randn(3, 4), torch.randn(3, 4))


def test_tensor_of_zeros_without_memory(allocated: Callable[..., int]) -> None:
    before = allocated()
    zero = torch._efficientzerotensor((1000, 1000), device="neuron")
    assert zero._is_zerotensor()
    assert allocated() == before
    x = torch.randn(1000, 1000, device="neuron")
    for result in (zero + x, x - zero, zero.clone() + x):
        assert torch.equal(result, x)
    assert (zero * x)._is_zerotensor()
    assert zero.cpu().count_nonzero().item() == 0
    assert torch.equal(x.clone().copy_(zero), torch.zeros_like(x))


def test_vmap(same_as_cpu: Compare) -> None:
    x, weight = torch.randn(5, 3, 4), torch.randn(4, 4)
    same_as_cpu(lambda x, w: vmap(lambda row: torch.tanh(row @ w).sum(0))(x), x, weight)
    same_as_cpu(lambda x, w: vmap(grad(function))(x), x, weight)
    same_as_cpu(lambda x, w: vmap(lambda row: row.lgamma().sort(-1)[0], in_dims=2, out_dims=1)(x), x, weight)
    same_as_cpu(
        lambda x, w: vmap(lambda row: row.index_select(0, torch.tensor([1, 0], device=row.device)))(x), x, weight
    )
    same_as_cpu(lambda x, w: vmap(lambda i: w[i])(torch.tensor([0, 3], device=x.device)), x, weight)
    same_as_cpu(lambda x, w: vmap(torch.linalg.slogdet)(x @ x.mT), x, weight)


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_random_numbers_under_vmap(same_as_cpu: Compare, randomness: str) -> None:
    def draw(x: Tensor) -> Tensor:
        return torch.randn(2, device=x.device) + x + torch.nn.functional.dropout(x, 0.5)

    same_as_cpu(lambda x: vmap(draw, randomness=randomness)(x), torch.ones(4, 2))


def test_gradients_of_each_sample() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(9, 1))
    x = torch.randn(6, 2, 4)

    def gradients(device: str) -> dict[str, Tensor]:
        parameters = {name: value.detach().to(device) for name, value in model.named_parameters()}

        def loss(parameters: dict[str, Tensor], sample: Tensor) -> Tensor:
            return functional_call(model, parameters, (sample[None],)).sum()

        return vmap(grad(loss), in_dims=(None, 0))(parameters, x.to(device))

    found, expected = gradients("neuron"), gradients("cpu")
    torch.testing.assert_close({name: value.cpu() for name, value in found.items()}, expected)


def test_gradcheck_passes_in_true_float64() -> None:
    import torch_neuron_sim

    with torch_neuron_sim.float64_policy("exact"):
        x = torch.randn(2, 3, dtype=torch.float64, device="neuron", requires_grad=True)
        assert torch.autograd.gradcheck(function, x, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(function, x)


def test_checkpoint_and_saved_tensor_hooks(same_as_cpu: Compare) -> None:
    from torch.utils.checkpoint import checkpoint

    def block(x: Tensor) -> Tensor:
        return torch.nn.functional.dropout((x @ x.mT).tanh(), 0.3)

    x = torch.randn(4, 4, requires_grad=True)
    same_as_cpu(lambda x: checkpoint(block, x, use_reentrant=False), x)

    def on_host(x: Tensor) -> Tensor:
        with torch.autograd.graph.save_on_cpu():
            return (x.exp() * x).sum()

    same_as_cpu(on_host, x)


def test_forward_mode_through_linear_is_that_of_cpu() -> None:
    x, w, b = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5)
    tangents = (torch.randn(3, 4), torch.randn(5, 4), torch.randn(5))
    for arguments in ((x, w, b), (x, w)):
        directions = tangents[: len(arguments)]
        expected = torch.func.jvp(torch.nn.functional.linear, arguments, directions)
        found = torch.func.jvp(
            torch.nn.functional.linear,
            tuple(t.to("neuron") for t in arguments),
            tuple(t.to("neuron") for t in directions),
        )
        for mine, theirs in zip(found, expected, strict=True):
            assert torch.equal(mine.cpu(), theirs)
