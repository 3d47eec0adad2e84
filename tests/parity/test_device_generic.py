"""PyTorch's machinery for device-generic tests makes tests for this device as for others."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing._internal.common_device_type import (
    PrivateUse1TestBase,
    deviceCountAtLeast,
    dtypes,
    instantiate_device_type_tests,
    onlyNativeDeviceTypes,
    ops,
    skipCPUIf,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase

import torch_neuron_sim

_SOME = [op for op in op_db if op.name in ("add", "matmul", "softmax", "cumsum", "gather")]


class TestGeneric(TestCase):
    def setUp(self) -> None:
        super().setUp()
        torch_neuron_sim.fallback_policy("silent")
        torch_neuron_sim.float64_policy("exact")

    @dtypes(torch.float32, torch.int64, torch.bfloat16)
    def test_arithmetic(self, device: str, dtype: torch.dtype) -> None:
        x = torch.arange(6, dtype=dtype, device=device).reshape(2, 3)
        self.assertEqual(x.device.type, torch.device(device).type)
        self.assertEqual((x + x).sum().item(), 30)

    @ops(_SOME, allowed_dtypes=(torch.float32,))
    def test_samples(self, device: str, dtype: torch.dtype, op: Any) -> None:
        for sample in op.sample_inputs(device, dtype):
            host = sample.transform(lambda leaf: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf)
            expected = op(host.input, *host.args, **host.kwargs)
            self.assertEqual(op(sample.input, *sample.args, **sample.kwargs), expected, exact_device=False)

    @deviceCountAtLeast(2)
    def test_copy_between_devices(self, devices: list[str]) -> None:
        x = torch.arange(4, device=devices[0])
        self.assertEqual(x.to(devices[1]).device, torch.device(devices[1]))
        self.assertEqual(x.to(devices[1]), x, exact_device=False)

    @onlyNativeDeviceTypes
    def test_native_device_types_include_the_device(self, device: str) -> None:
        self.assertTrue(torch.ones(1, device=device).is_neuron)

    @skipCPUIf(True, "a test of the device")
    def test_primary_device_is_the_current_one(self, device: str) -> None:
        self.assertEqual(torch.device(device), torch.device("neuron", torch.neuron.current_device()))


instantiate_device_type_tests(TestGeneric, globals(), only_for=("neuron", "privateuse1"))


def test_tests_were_made_with_the_base_of_pytorch() -> None:
    made = {name: value for name, value in globals().items() if name.startswith("TestGeneric")}
    (name, generated), *others = made.items()
    assert not others
    assert name == "TestGenericPRIVATEUSE1"
    assert issubclass(generated, PrivateUse1TestBase)
    tests = [each for each in vars(generated) if each.startswith("test_")]
    assert "test_arithmetic_neuron_bfloat16" in tests
    assert len([each for each in tests if each.startswith("test_samples")]) >= len({op.name for op in _SOME})
