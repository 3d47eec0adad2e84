"""Which devices may meet in one call: neuron devices, the host, and the exceptions that every accelerator makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim import neuron

Compare = Callable[..., Any]

# Typed, boxed, a list argument, an index list, an optional argument, a written argument.
MIXES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda x, y: x + y,
    "mm": lambda x, y: x @ y,
    "atan2": torch.atan2,
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y]),
    "index": lambda x, y: x[y.long()],
    "index_select": lambda x, y: x.index_select(0, y[0].long()),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "linear": lambda x, y: torch.nn.functional.linear(x, x, y[0]),
    "batch_norm": lambda x, y: torch.nn.functional.batch_norm(x, y[0], y[1]),
    "in place": lambda x, y: x.add_(y),
    "foreach": lambda x, y: torch._foreach_add([x], [y]),
    "convolution": lambda x, y: torch.conv1d(x[None], y[None]),
    "setitem": lambda x, y: x.masked_fill_(y > 0, 1),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "lerp": lambda x, y: x.lerp(y, 0.5),
}


PLACES = (("neuron:0", "cpu"), ("neuron:1", "cpu"), ("neuron:1", "neuron:0"), ("cpu", "neuron:1"))
# A host tensor may index a device tensor.
FORBIDDEN = [(name, p) for name in MIXES for p in PLACES if not (name == "index" and p[1] == "cpu")]


@pytest.mark.parametrize(("name", "places"), FORBIDDEN)
def test_error_names_both_devices(name: str, places: tuple[str, str]) -> None:
    x, y = (torch.ones(2, 2).to(place) for place in places)
    with pytest.raises(RuntimeError) as caught:
        MIXES[name](x, y)
    text = str(caught.value)
    assert all(place in text for place in places), text
    assert len(text.splitlines()) == 1
    assert x.sum().item() == y.sum().item() == 4


def test_error_is_the_one_that_cuda_users_know() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(3, device="neuron:1").mul(torch.ones(3))
    expected = "Expected all tensors to be on the same device, but found at least two devices, neuron:1 and cpu!"
    assert str(caught.value).startswith(expected)
    assert "aten::mul.Tensor" in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64])
def test_host_scalars_mix_with_device_tensors(dtype: torch.dtype) -> None:
    scalar = torch.tensor(2).to(dtype)
    x = torch.arange(3.0)
    for function in (torch.add, torch.mul, torch.atan2, torch.eq):
        if function is torch.atan2 and dtype.is_complex:
            continue
        for expected, found in (
            (function(x, scalar), function(x.to("neuron"), scalar)),
            (function(scalar, x), function(scalar, x.to("neuron"))),
        ):
            assert found.device.type == "neuron"
            assert found.dtype == expected.dtype
            assert torch.equal(found.cpu(), expected)


def test_host_scalar_with_lists_and_optional_arguments() -> None:
    x = torch.arange(4.0, device="neuron:1")
    scalar = torch.tensor(3.0)
    results = [
        torch.where(x > 1, x, scalar),
        x.clamp(min=scalar),
        x.masked_fill(x > 1, scalar),
        torch._foreach_mul([x], [scalar])[0],
        x.index_put((torch.tensor([0]),), scalar),
        torch.stack([x.sum(), scalar]),
        x.lerp(x, scalar),
    ]
    assert {result.device for result in results} == {torch.device("neuron", 1)}
    assert [result.tolist() for result in results] == [
        [3, 3, 2, 3],
        [3, 3, 3, 3],
        [0, 1, 3, 3],
        [0, 3, 6, 9],
        [3, 1, 2, 3],
        [6, 3],
        [0, 1, 2, 3],
    ]


# Elements of host tensors, none of them first in its storage.
ELEMENTS = {
    "element": torch.tensor([9.0, 2.0, 7.0])[2],
    "element of a column": torch.tensor([[1.0, 5.0], [3.0, 8.0]])[:, 1][1],
    "element of a transpose": torch.tensor([[1.0, 5.0], [3.0, 8.0]]).t()[1, 0],
    "element of a step": torch.arange(9.0)[1::3][2],
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_host_scalar_is_read_where_it_lies_in_its_storage(name: str) -> None:
    scalar = ELEMENTS[name]
    value = scalar.item()
    for element in (scalar, torch.stack([-scalar, scalar]).to("neuron")[1]):
        x, mask = torch.full((2,), 4.0, device="neuron"), torch.tensor([True, False], device="neuron")
        assert (x * element).tolist() == (element * x).tolist() == [4 * value] * 2
        assert (element - x).tolist() == [value - 4] * 2
        assert (x > element).tolist() == [value < 4] * 2
        assert torch.maximum(x, element).tolist() == [max(4, value)] * 2
        assert torch.atan2(x, element).tolist() == torch.atan2(x.cpu(), scalar).tolist()
        assert torch.where(mask, element, x).tolist() == x.masked_fill(mask, element).tolist() == [value, 4]
        assert x.clone().fill_(element).tolist() == [value] * 2
        assert x.clone().mul_(element).tolist() == [4 * value] * 2
        x[1] = element
        assert x.tolist() == [4, value]


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([2, 0]),
        torch.tensor([True, False, True]),
        [0, 2],
        (slice(None), torch.tensor([1, 1, 3])),
        (torch.tensor([0, 1]), torch.tensor([3, 2])),
        (torch.tensor([[0], [1]]), slice(1, 3)),
        (Ellipsis, torch.tensor([0])),
        (None, torch.tensor([0, 1])),
        (torch.tensor(1), torch.tensor(2)),
        torch.tensor(1),
    ],
    ids=str,
)
def test_host_tensors_may_index(index: Any) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    expected, found = x[index], x.to("neuron")[index]
    assert found.device.type == "neuron"
    assert torch.equal(found.cpu(), expected)
    written, device_written = x.clone(), x.to("neuron")
    written[index] = -expected
    device_written[index] = -found
    assert torch.equal(device_written.cpu(), written)
    written[index] += 1
    device_written[index] += 1
    assert torch.equal(device_written.cpu(), written)


def test_host_tensors_take_device_scalars() -> None:
    x, scalar = torch.zeros(4), torch.tensor(5.0, device="neuron")
    x[0] = scalar
    x[torch.tensor([False, True, False, False])] = scalar + 1
    x[torch.tensor([2])] = scalar + 2
    assert x.tolist() == [5, 6, 7, 0]


def test_device_and_host_indices_mix() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    rows, columns = torch.tensor([0, 2]), torch.tensor([1, 3])
    for indices in ((rows.to("neuron"), columns), (rows, columns.to("neuron"))):
        assert torch.equal(x.to("neuron")[indices].cpu(), x[rows, columns])


def test_gradient_through_host_indices(same_as_cpu: Compare) -> None:
    same_as_cpu(lambda x: x[torch.tensor([0, 2, 0])], torch.randn(3, 4, requires_grad=True))
    same_as_cpu(lambda x: x[torch.tensor([True, False, True])], torch.randn(3, 4, requires_grad=True))


def test_ctc_loss_takes_lengths_and_targets_from_the_host() -> None:
    torch.manual_seed(0)
    probabilities = torch.randn(12, 2, 5).log_softmax(2).requires_grad_()
    targets, lengths = torch.randint(1, 5, (2, 4)), torch.tensor([12, 9])
    target_lengths = torch.tensor([4, 3])
    expected = torch.nn.functional.ctc_loss(probabilities, targets, lengths, target_lengths)
    on_device = probabilities.detach().to("neuron").requires_grad_()
    found = torch.nn.functional.ctc_loss(on_device, targets, lengths, target_lengths)
    assert torch.equal(found.cpu(), expected)
    expected.backward()
    found.backward()
    assert on_device.grad is not None
    assert torch.equal(on_device.grad.cpu(), probabilities.grad)


def test_results_are_on_the_device_of_the_arguments_whatever_is_current(allocated: Callable[..., int]) -> None:
    x = torch.arange(6.0).reshape(2, 3).to("neuron:1")
    assert torch.accelerator.current_device_index() == 0
    before = allocated(0), allocated(1)
    results = [
        x + 1,
        x.lgamma(),
        x.sum(),
        x.sort()[0],
        torch.cat([x, x]),
        x[x > 1],
        x.new_zeros(2),
        torch.zeros_like(x),
    ]
    assert {result.device.index for result in results} == {1}
    assert allocated(0) == before[0]
    assert allocated(1) > before[1]
    assert torch.accelerator.current_device_index() == 0


def test_backward_runs_on_the_device_of_the_tensors(same_as_cpu: Compare) -> None:
    devices: list[torch.device] = []
    x = torch.ones(3, device="neuron:1", requires_grad=True)
    y = x.to("neuron:2").exp()
    y.register_hook(lambda gradient: devices.append(gradient.device))
    (y.to("neuron:1") * x).sum().backward()
    assert x.grad is not None
    assert x.grad.device == x.device
    assert devices == [torch.device("neuron", 2)]
    assert torch.equal(x.grad.cpu(), torch.ones(3).exp() * 2)


def test_index_out_of_range_names_the_count() -> None:
    count = neuron.device_count()
    makers: tuple[Callable[[str], Any], ...] = (
        lambda d: torch.empty(1, device=d),
        lambda d: torch.zeros(1).to(d),
        lambda d: torch.arange(2, device=d),
    )
    for make in makers:
        with pytest.raises(RuntimeError, match=rf"{count}"):
            make(f"neuron:{count}")


def test_meta_tensors_do_not_mix_with_the_device() -> None:
    meta, x = torch.empty(3, device="meta"), torch.ones(3, device="neuron")
    for function in (lambda: x + meta, lambda: x.copy_(meta), lambda: torch.cat([x, meta])):
        with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
            function()
    assert meta.copy_(x).device.type == "meta"
