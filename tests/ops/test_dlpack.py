"""Exchange with other libraries: DLPack, NumPy, buffers, and pointers that came from outside."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest
import torch
from torch import Tensor
from torch.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack

from torch_neuron_sim import neuron


def test_device_code_is_the_one_for_extensions() -> None:
    for index in (0, 1):
        code, found = torch.ones(1, device=f"neuron:{index}").__dlpack_device__()
        assert int(code) == DLDeviceType.kDLExtDev == 12
        assert found == index


@pytest.mark.parametrize(
    "exchange", [torch.from_dlpack, lambda x: from_dlpack(to_dlpack(x)), lambda x: from_dlpack(x.__dlpack__())]
)
def test_exchange_shares_memory(exchange: Callable[[Tensor], Tensor]) -> None:
    x = torch.arange(24.0).reshape(4, 6).to("neuron:1")
    for view in (x, x.t(), x[1:, ::2], x[2]):
        back = exchange(view)
        assert (back.device, back.dtype, back.shape, back.stride()) == (
            view.device,
            view.dtype,
            view.shape,
            view.stride(),
        )
        assert back.data_ptr() == view.data_ptr()
        assert torch.equal(back.cpu(), view.cpu())
    exchange(x).mul_(2)
    assert torch.equal(x.cpu(), torch.arange(24.0).reshape(4, 6) * 2)


def test_imported_tensors_compute_like_others() -> None:
    x = torch.from_dlpack(torch.arange(6.0, device="neuron"))
    assert (x + 1).tolist() == [1, 2, 3, 4, 5, 6]
    assert x.lgamma().exp()[2:].round().tolist() == [1, 2, 6, 24]
    assert x.view(2, 3).t().contiguous().sum(1).tolist() == [3, 5, 7]
    torch.mul(x, 2, out=x)
    assert x.cpu().tolist() == [0, 2, 4, 6, 8, 10]
    leaf = x.requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [0, 4, 8, 12, 16, 20]


def test_memory_lives_as_long_as_one_side_does(allocated: Callable[..., int]) -> None:
    before = allocated()
    x = torch.full((1000,), 3.0, device="neuron")
    back = torch.from_dlpack(x)
    del x
    torch.full((1000,), 4.0, device="neuron")
    assert back.sum().item() == 3000
    assert allocated() > before
    del back
    assert allocated() == before


def test_capsule_that_nobody_takes_frees_the_memory(allocated: Callable[..., int]) -> None:
    before = allocated()
    capsule = to_dlpack(torch.ones(1000, device="neuron"))
    assert allocated() > before
    del capsule
    assert allocated() == before


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64], ids=str
)
def test_dtypes_and_empty_tensors(dtype: torch.dtype) -> None:
    for shape in ((3,), (), (0, 2)):
        x = torch.ones(shape).to(dtype).to("neuron")
        back = torch.from_dlpack(x)
        assert (back.dtype, back.shape) == (dtype, x.shape)
        assert torch.equal(back.cpu(), x.cpu())


def test_what_dlpack_cannot_carry_is_refused() -> None:
    with pytest.raises((BufferError, RuntimeError), match="gradient"):
        torch.ones(1, device="neuron", requires_grad=True).__dlpack__()
    with pytest.raises((BufferError, RuntimeError), match="conj"):
        torch.ones(1, device="neuron", dtype=torch.complex64).conj().__dlpack__()


def test_numpy_is_refused_as_on_cuda() -> None:
    x = torch.ones(2, device="neuron:1")
    for convert in (Tensor.numpy, numpy.asarray, numpy.array, numpy.sqrt):
        with pytest.raises(TypeError) as caught:
            convert(x)
        assert str(caught.value) == (
            "can't convert neuron:1 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        numpy.from_dlpack(x)
    assert x.numpy(force=True).tolist() == [1, 1]


def test_from_numpy_and_buffers() -> None:
    array = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
    x = torch.from_numpy(array).to("neuron")
    array[:] = 0
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.frombuffer(bytearray(b"\x01\x02"), dtype=torch.uint8).to("neuron").tolist() == [1, 2]
    for convert in (torch.asarray, torch.as_tensor):
        made = convert(array, device="neuron")
        array[0, 0] += 1
        assert made[0, 0] == array[0, 0] - 1  # a copy
    assert torch.tensor(numpy.float32(2.5), device="neuron").item() == 2.5
    assert torch.tensor(numpy.eye(2), device="neuron").dtype == torch.float64
    assert torch.asarray(x) is x


def test_pointers_are_of_the_device() -> None:
    # A host library that is handed one faults; within a device, offsets are bytes.
    x = torch.arange(8.0, device="neuron")
    assert x[2:].data_ptr() - x.data_ptr() == 8
    assert x.view(2, 4).data_ptr() == x.data_ptr() == x.untyped_storage().data_ptr()
    assert torch.empty(0, device="neuron").data_ptr() == 0
    other = torch.empty(8, device="neuron:1")
    assert abs(other.data_ptr() - x.data_ptr()) >= neuron.get_device_properties(0).total_memory


def test_array_interface_is_not_offered() -> None:
    x = torch.ones(2, device="neuron")
    assert not hasattr(x, "__cuda_array_interface__")
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(TypeError, match="bytes-like object"):
        memoryview(x)
    with pytest.raises(TypeError, match="can't convert neuron:0"):
        x.__array__()
