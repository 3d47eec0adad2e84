"""Tensors, devices and dtypes print as on any device, and printing leaves no trace in the record."""

from __future__ import annotations

import pytest
import torch

import torch_neuron_sim


@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.tensor(3.5, device=device),
        lambda device: torch.arange(5, device=device),
        lambda device: torch.tensor([1e-8, 1.0, float("nan"), float("inf")], device=device),
        lambda device: torch.tensor([1.5, -2.25], dtype=torch.float64, device=device),
        lambda device: torch.tensor([1, 0], dtype=torch.bool, device=device),
        lambda device: torch.tensor([1 + 2j], device=device),
        lambda device: torch.tensor([1.5], dtype=torch.bfloat16, device=device),
        lambda device: torch.empty(0, 3, device=device),
        lambda device: torch.arange(5000, device=device).reshape(50, 100),
        lambda device: torch.ones(2, 2, device=device, requires_grad=True),
        lambda device: torch.ones(2, device=device, requires_grad=True) * 2,
        lambda device: torch.nn.Parameter(torch.ones(2, device=device)),
    ],
)
def test_a_tensor_prints_as_on_cpu_plus_its_device(make: object) -> None:
    cpu, neuron = (repr(make(device)) for device in ("cpu", "neuron"))  # type: ignore[operator]
    assert "device='neuron:0'" in neuron
    without = neuron.replace("device='neuron:0', ", "").replace(", device='neuron:0'", "")
    assert "".join(without.split()) == "".join(cpu.split())


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
        torch.int64, torch.int8, torch.uint8, torch.uint16, torch.bool, torch.complex64, torch.complex128,
    ],
)  # fmt: skip
def test_every_dtype_prints_as_on_cpu_plus_its_device(dtype: torch.dtype) -> None:
    for values in (torch.ones(20), torch.arange(6).view(3, 2).t() * 1.5, torch.tensor(3.0), torch.empty(0, 2)):
        tensor = values.to(dtype)
        neuron = repr(tensor.to("neuron"))
        assert "device='neuron:0'" in neuron
        cpu = "".join(repr(tensor).split())
        assert "".join(neuron.split()).replace(",device='neuron:0'", "").replace("device='neuron:0',", "") == cpu


def test_printing_is_not_recorded_and_does_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    tensor = torch.ones(30, 30, dtype=torch.float64, device="neuron") / 3
    torch_neuron_sim.clear_op_tracking()
    recwarn.clear()
    assert "0.3333" in str(tensor)
    assert torch_neuron_sim.get_fallback_ops() == []
    assert not [each for each in recwarn if issubclass(each.category, torch_neuron_sim.Float64Warning)]


def test_formatting_a_scalar() -> None:
    assert f"{torch.tensor(2.5, device='neuron'):.2f}" == "2.50"
    assert f"{torch.tensor(7, device='neuron'):03d}" == "007"


def test_devices_print_their_name() -> None:
    assert str(torch.device("neuron")) == "neuron"
    assert str(torch.device("neuron", 1)) == "neuron:1"
    assert repr(torch.device("neuron:1")) == "device(type='neuron', index=1)"
    assert torch.device(1) == torch.device("neuron", 1)
    with pytest.raises(RuntimeError, match="Invalid device string"):
        torch.device("neuron:-1")


def test_streams_events_and_storages_print_their_device() -> None:
    assert "neuron" in repr(torch.neuron.Stream(1))
    assert "device_index=1" in repr(torch.neuron.Stream(1))
    assert "neuron" in repr(torch.neuron.Event())
    assert "device=neuron:0" in repr(torch.ones(1, device="neuron").untyped_storage())


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.uint8, torch.bool, torch.complex64, torch.float8_e5m2, torch.uint16,
    ],
)  # fmt: skip
def test_dtypes_are_kept(dtype: torch.dtype) -> None:
    tensor = torch.zeros(2, dtype=dtype, device="neuron")
    assert tensor.dtype is dtype
    assert tensor.element_size() == torch.zeros(2, dtype=dtype).element_size()
    assert tensor.cpu().dtype is dtype
