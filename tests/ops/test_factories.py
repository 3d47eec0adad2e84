"""Every way to make a tensor with device="neuron"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor

import torch_neuron_sim
from torch_neuron_sim import neuron

Compare = Callable[..., Any]

FACTORIES: dict[str, Callable[..., Tensor]] = {
    "zeros": lambda **o: torch.zeros(2, 3, **o),
    "ones": lambda **o: torch.ones((2, 3), **o),
    "full": lambda **o: torch.full((2, 3), 7, **o),
    "full of a float": lambda **o: torch.full((2,), 7.5, **o),
    "arange": lambda **o: torch.arange(2, 9, 3, **o),
    "arange of floats": lambda **o: torch.arange(0.0, 1.0, 0.25, **o),
    "range": lambda **o: torch.range(1, 4, **o),
    "linspace": lambda **o: torch.linspace(0, 1, 5, **o),
    "logspace": lambda **o: torch.logspace(0, 2, 5, **o),
    "eye": lambda **o: torch.eye(3, 4, **o),
    "tensor": lambda **o: torch.tensor([[1, 2], [3, 4]], **o),
    "tensor of a float": lambda **o: torch.tensor(1.5, **o),
    "tensor of nothing": lambda **o: torch.tensor([], **o),
    "tensor of numpy": lambda **o: torch.tensor(numpy.arange(3), **o),
    "as_tensor": lambda **o: torch.as_tensor([1, 0, 2], **o),
    "asarray": lambda **o: torch.asarray(numpy.ones(3, numpy.float32), **o),
    "scalar_tensor": lambda **o: torch.scalar_tensor(3, **o),
    "tril_indices": lambda **o: torch.tril_indices(3, 3, **o),
    "triu_indices": lambda **o: torch.triu_indices(3, 3, **o),
    "rand": lambda **o: torch.rand(2, 3, **o),
    "randn": lambda **o: torch.randn(2, 3, **o),
    "randint": lambda **o: torch.randint(0, 9, (2, 3), **o),
    "randperm": lambda **o: torch.randperm(5, **o),
    "normal": lambda **o: torch.normal(0.0, 1.0, (2, 3), **o),
    "hann_window": lambda **o: torch.hann_window(5, **o),
    "hamming_window": lambda **o: torch.hamming_window(5, **o),
    "blackman_window": lambda **o: torch.blackman_window(5, **o),
    "bartlett_window": lambda **o: torch.bartlett_window(5, **o),
    "kaiser_window": lambda **o: torch.kaiser_window(5, **o),
    "fftfreq": lambda **o: torch.fft.fftfreq(5, **o),
    "vander of arange": lambda **o: torch.vander(torch.arange(3, **o)),
    "zeros without size": lambda **o: torch.zeros((), **o),
    "zeros of no elements": lambda **o: torch.zeros(0, 4, **o),
    "complex": lambda **o: torch.complex(torch.ones(2, **o), torch.zeros(2, **o)),
    "polar": lambda **o: torch.polar(torch.ones(2, **o), torch.zeros(2, **o)),
    "signal window": lambda **o: torch.signal.windows.gaussian(5, **o),
}
LIKES: dict[str, Callable[..., Tensor]] = {
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda x, **o: torch.full_like(x, 3, **o),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x, **o: torch.randint_like(x, 9, **o),
    "new_zeros": lambda x, **o: x.new_zeros(2, 3, **o),
    "new_ones": lambda x, **o: x.new_ones((2, 3), **o),
    "new_full": lambda x, **o: x.new_full((2,), 4, **o),
    "new_tensor": lambda x, **o: x.new_tensor([1, 2], **o),
}
# Contents are not defined: only what kind of tensor it is.
EMPTY: dict[str, Callable[..., Tensor]] = {
    "empty": lambda **o: torch.empty(2, 3, **o),
    "empty, channels last": lambda **o: torch.empty(2, 3, 4, 5, memory_format=torch.channels_last, **o),
    "empty_strided": lambda **o: torch.empty_strided((2, 3), (1, 4), **o),
    "empty_permuted": lambda **o: torch.empty_permuted((2, 3, 4), (2, 0, 1), **o),
    "new_empty": lambda **o: torch.ones(1, **o).new_empty(2, 3),
    "new_empty_strided": lambda **o: torch.ones(1, **o).new_empty_strided((2, 3), (3, 1)),
    "empty_like": lambda **o: torch.empty_like(torch.ones(2, 3, **o).t()),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_values_and_dtype_are_those_of_cpu(name: str) -> None:
    torch.manual_seed(3)
    expected = FACTORIES[name]()
    torch.manual_seed(3)
    found = FACTORIES[name](device="neuron")
    assert found.device == torch.device("neuron", 0)
    assert (found.dtype, found.stride()) == (expected.dtype, expected.stride())
    assert torch.equal(found.cpu(), expected)
    assert FACTORIES[name](device="neuron:1").device == torch.device("neuron", 1)
    assert FACTORIES[name](device=torch.device("neuron")).device == torch.device("neuron", 0)


@pytest.mark.parametrize("name", [n for n in FACTORIES if n not in ("complex", "polar", "signal window")])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32, torch.bool, torch.complex64], ids=str)
def test_dtype_argument(name: str, dtype: torch.dtype) -> None:
    try:
        torch.manual_seed(3)
        expected = FACTORIES[name](dtype=dtype)
    except Exception as error:
        with pytest.raises(type(error)):
            FACTORIES[name](dtype=dtype, device="neuron")
        return
    torch.manual_seed(3)
    found = FACTORIES[name](dtype=dtype, device="neuron")
    assert found.dtype == expected.dtype
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("name", LIKES)
def test_like_another_tensor(name: str) -> None:
    for x in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(2, 3, dtype=torch.int16), torch.ones(0)):
        torch.manual_seed(3)
        try:
            expected = LIKES[name](x)
        except RuntimeError as error:
            with pytest.raises(type(error)):
                LIKES[name](x.to("neuron"))
            continue
        torch.manual_seed(3)
        found = LIKES[name](x.to("neuron:1"))
        assert found.device == torch.device("neuron", 1)
        assert (found.dtype, found.stride()) == (expected.dtype, expected.stride())
        assert torch.equal(found.cpu(), expected)
        assert LIKES[name](x, device="neuron:2", dtype=torch.float32).device.index == 2
        assert LIKES[name](x.to("neuron"), device="cpu").device.type == "cpu"


@pytest.mark.parametrize("name", EMPTY)
def test_uninitialised(name: str) -> None:
    expected = EMPTY[name](dtype=torch.int16)
    found = EMPTY[name](dtype=torch.int16, device="neuron:1")
    assert found.device == torch.device("neuron", 1)
    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
    assert found.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    assert found.fill_(3).eq(3).all().item()
    assert EMPTY[name](device="neuron", requires_grad=True).is_neuron or name.startswith("new")


def test_requires_grad_and_is_leaf() -> None:
    x = torch.ones(2, device="neuron", requires_grad=True)
    assert x.requires_grad
    assert x.is_leaf
    with pytest.raises(RuntimeError, match="floating point and complex"):
        torch.ones(2, device="neuron", dtype=torch.int64, requires_grad=True)


def test_device_contexts_and_defaults() -> None:
    with torch.device("neuron:1"):
        made = [torch.ones(1), torch.arange(2), torch.tensor([1]), torch.nn.Linear(2, 2).weight, torch.randn(1)]
        assert torch.ones(1, device="cpu").device.type == "cpu"
    with neuron.device(1):
        made += [torch.ones(1, device="neuron"), torch.empty(0, device="neuron"), torch.tensor(1, device="neuron")]
    assert {x.device for x in made} == {torch.device("neuron", 1)}
    try:
        torch.set_default_device("neuron:2")
        assert torch.zeros(1).device == torch.device("neuron", 2)
    finally:
        torch.set_default_device("cpu")
        torch.set_default_device(None)
    assert torch.zeros(1).device.type == "cpu"


def test_size_and_dtype_errors_are_those_of_cpu() -> None:
    for make in (
        lambda **o: torch.empty(-1, **o),
        lambda **o: torch.empty_strided((2,), (-1,), **o),
        lambda **o: torch.empty_strided((2, 3), (1,), **o),
        lambda **o: torch.empty(2, 3, memory_format=torch.channels_last, **o),
        lambda **o: torch.arange(0, 1, 0, **o),
        lambda **o: torch.randint(3, 3, (1,), **o),
        lambda **o: torch.eye(-1, **o),
        lambda **o: torch.linspace(0, 1, -1, **o),
        lambda **o: torch.randperm(-1, **o),
    ):
        with pytest.raises(RuntimeError) as on_cpu:
            make()
        with pytest.raises(RuntimeError) as on_neuron:
            make(device="neuron")
        assert str(on_neuron.value) == str(on_cpu.value)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_other_layouts_give_one_line(layout: torch.layout) -> None:
    for make in (torch.empty, torch.zeros):
        with pytest.raises(NotImplementedError) as caught:
            make(2, 2, layout=layout, device="neuron")
        assert len(str(caught.value).splitlines()) == 1
        assert "not supported on neuron" in str(caught.value)


@pytest.mark.parametrize(
    "make", [torch.empty, torch.zeros, torch.ones, torch.randn, torch.rand, torch.eye, torch.arange]
)
def test_pinned_device_memory_is_refused(make: Callable[..., Tensor]) -> None:
    with pytest.raises(RuntimeError, match="pin"):
        make(2, device="neuron", pin_memory=True)


def test_factories_run_no_fallback_but_sampling() -> None:
    torch_neuron_sim.clear_op_tracking()
    for name in ("zeros", "ones", "full", "arange", "tensor", "eye", "scalar_tensor"):
        FACTORIES[name](device="neuron")
    assert torch_neuron_sim.get_fallback_ops() == []
    torch.rand(1, device="neuron"), torch.randn(1, device="neuron"), torch.randint(2, (1,), device="neuron")
    assert torch_neuron_sim.get_fallback_ops() == ["aten::uniform_", "aten::normal_", "aten::random_.from"]


def test_generators_are_honoured() -> None:
    draws = []
    for device in ("cpu", "neuron"):
        generator = torch.Generator(device).manual_seed(5)
        torch.manual_seed(0)
        before = torch.get_rng_state()
        draws.append(torch.randn(3, device=device, generator=generator).cpu())
        draws.append(torch.randperm(6, device=device, generator=generator).cpu())
        assert torch.equal(torch.get_rng_state(), before)  # the default generator was not drawn from
    assert torch.equal(draws[0], draws[2])
    assert torch.equal(draws[1], draws[3])


def test_zeros_are_zeros_in_memory_that_was_used_before(same_as_cpu: Compare) -> None:
    for _ in range(5):
        torch.full((1000,), 9.0, device="neuron")
        assert torch.zeros(1000, device="neuron").count_nonzero().item() == 0
        assert torch.empty(1000, device="neuron").zero_().count_nonzero().item() == 0
