"""Views share memory, have CPU's geometry, and run no kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import torch_neuron_sim

Compare = Callable[..., Any]

# On a 2 x 3 x 4 x 6 tensor.
VIEWS: dict[str, Callable[[Tensor], Any]] = {
    "view": lambda x: x.view(6, 24),
    "view with -1": lambda x: x.view(-1, 6),
    "view of dtype, same size": lambda x: x.view(torch.int32),
    "view of dtype, smaller": lambda x: x.view(torch.int16),
    "view of dtype, larger": lambda x: x.view(torch.float64),
    "reshape": lambda x: x.reshape(3, 8, 6),
    "flatten": lambda x: x.flatten(1, 2),
    "unflatten": lambda x: x.unflatten(3, (2, 3)),
    "as_strided": lambda x: x.as_strided((3, 2), (5, 7), 4),
    "permute": lambda x: x.permute(3, 1, 0, 2),
    "transpose": lambda x: x.transpose(0, 2),
    "movedim": lambda x: x.movedim(0, 3),
    "t": lambda x: x[0, 0].t(),
    "mT": lambda x: x.mT,
    "expand": lambda x: x[:, :1].expand(2, 5, 4, 6),
    "expand to more dimensions": lambda x: x.expand(7, 2, 3, 4, 6),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(2),
    "select": lambda x: x.select(1, 2),
    "slice": lambda x: x[:, 1:, ::2],
    "narrow": lambda x: x.narrow(3, 1, 4),
    "split": lambda x: x.split(4, 3),
    "split in sizes": lambda x: x.split([1, 5], 3),
    "chunk": lambda x: x.chunk(2, 1),
    "tensor_split": lambda x: x.tensor_split(4, 3),
    "unbind": lambda x: x.unbind(1),
    "diagonal": lambda x: x.diagonal(1, 2, 3),
    "unfold": lambda x: x.unfold(3, 3, 2),
    "unfold of no dimension": lambda x: x[0, 0, 0, 0].unfold(0, 1, 1),
    "view_as_complex": lambda x: torch.view_as_complex(x.view(2, 3, 4, 3, 2)),
    "view_as_real": lambda x: torch.view_as_real(torch.view_as_complex(x.view(2, 3, 4, 3, 2))),
    "real and imag": lambda x: [(z := torch.view_as_complex(x.view(72, 2))).real, z.imag],
    "detach": lambda x: x.detach(),
    "alias": lambda x: torch.ops.aten.alias(x),
    "view_as": lambda x: x.view_as(torch.empty(6, 24)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "hsplit": lambda x: x.hsplit(3),
    "atleast_3d": lambda x: torch.atleast_3d(x[0, 0, 0]),
    "ellipsis and None": lambda x: x[..., None, 0],
}


def tensors(value: Any) -> list[Tensor]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", VIEWS)
def test_view_shares_memory_and_has_the_geometry_of_cpu(name: str) -> None:
    x = torch.arange(144.0).reshape(2, 3, 4, 6)
    device = x.to("neuron")
    with torch_neuron_sim.fallback_policy("error"):
        found = tensors(VIEWS[name](device))
    expected = tensors(VIEWS[name](x))
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape, one.stride(), one.storage_offset()) == (
            other.dtype,
            other.shape,
            other.stride(),
            other.storage_offset(),
        )
        assert one.untyped_storage().data_ptr() == device.untyped_storage().data_ptr()
        assert torch.equal(one.cpu(), other)
        assert one._base is (device if other._base is not None else None)


@pytest.mark.parametrize("name", VIEWS)
def test_writes_through_a_view_and_gradients(same_as_cpu: Compare, name: str) -> None:
    def write(x: Tensor) -> Tensor:
        for number, view in enumerate(tensors(VIEWS[name](x))):
            if 0 not in view.stride() and name != "unfold":
                view.fill_(number + 1)
        return x

    def use(x: Tensor) -> list[Tensor]:
        return [view * 2 for view in tensors(VIEWS[name](x)) if view.dtype.is_floating_point or view.dtype.is_complex]

    x = torch.arange(144.0).reshape(2, 3, 4, 6)
    same_as_cpu(write, x)
    if "dtype" not in name:
        same_as_cpu(use, x.requires_grad_())


@given(
    shape=st.lists(st.integers(0, 4), min_size=0, max_size=5),
    target=st.lists(st.integers(-1, 5), min_size=0, max_size=5),
    permuted=st.booleans(),
)
def test_any_view_is_made_or_refused_as_on_cpu(shape: list[int], target: list[int], permuted: bool) -> None:
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    pair = (x, x.to("neuron"))
    results: list[Any] = []
    for tensor in pair:
        tensor = tensor.permute(tuple(range(tensor.dim()))[::-1]) if permuted else tensor
        for method in (tensor.view, tensor.reshape, *([] if -1 in target else [tensor.expand])):
            try:
                view = method(target)
                results.append((view.shape, view.stride(), view.tolist()))
            except RuntimeError:
                results.append("refused")
    half = len(results) // 2
    assert results[:half] == results[half:]


@given(
    size=st.lists(st.integers(0, 4), min_size=0, max_size=3),
    stride=st.lists(st.integers(-1, 4), min_size=0, max_size=3),
    offset=st.integers(-1, 10),
)
def test_as_strided_stays_within_the_storage_as_on_cpu(size: list[int], stride: list[int], offset: int) -> None:
    results: list[Any] = []
    for device in ("cpu", "neuron"):
        x = torch.arange(12.0).to(device)
        try:
            results.append(x.as_strided(size, stride, offset).tolist())
        except RuntimeError as error:
            results.append(str(error))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.unfold(0, 9, 1),
        lambda x: x.unfold(1, 2, 0),
        lambda x: x.unfold(5, 1, 1),
        lambda x: x.view(7),
        lambda x: x.t().view(-1),
        lambda x: x.view(torch.complex128),
        lambda x: torch.view_as_complex(x),
        lambda x: torch.view_as_real(x),
        lambda x: x.expand(2, 9),
        lambda x: x.select(0, 4),
        lambda x: x.squeeze(3),
    ],
)
def test_errors_are_those_of_cpu(view: Callable[[Tensor], Tensor]) -> None:
    x = torch.arange(15.0).reshape(3, 5)
    with pytest.raises((RuntimeError, IndexError)) as on_cpu:
        view(x)
    with pytest.raises(on_cpu.type) as on_neuron:
        view(x.to("neuron"))
    assert str(on_neuron.value) == str(on_cpu.value)


def test_views_of_views_and_of_other_devices() -> None:
    x = torch.arange(24.0).reshape(4, 6).to("neuron:1")
    view = x[1:].t()[2:].unfold(1, 2, 1)
    assert view.device == x.device
    assert view._base is x
    view[0, 0, 0] = 100
    assert x[1, 2].item() == 100


def test_view_keeps_the_memory_alive(allocated: Callable[..., int]) -> None:
    before = allocated()
    row = torch.arange(4096.0, device="neuron").view(4, 1024)[2]
    assert allocated() - before == 4096 * 4
    assert row[1].item() == 2049
    del row
    assert allocated() == before


def test_views_are_recorded_under_their_own_names() -> None:
    x = torch.ones(2, 6, device="neuron")
    torch_neuron_sim.clear_op_tracking()
    x.view(12), x.as_strided((2,), (1,)), x.unfold(1, 2, 2), torch.view_as_complex(x.view(6, 2))
    # The last two have no kernel on the real device, which never lists them as fallbacks either.
    assert set(torch_neuron_sim.get_executed_ops()) & {"aten::unfold", "aten::view_as_complex"} <= {"aten::unfold"}
    assert {"aten::view", "aten::as_strided"} <= set(torch_neuron_sim.get_executed_ops())
    assert torch_neuron_sim.get_fallback_ops() == []
