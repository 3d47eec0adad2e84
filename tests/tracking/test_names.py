"""get_fallback_ops() and get_executed_ops(): the names that TorchNeuron lists, once each, in order of first use."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
import torch

from torch_neuron_sim import clear_op_tracking, get_executed_ops, get_fallback_ops

pytestmark = pytest.mark.usefixtures("silent")

# A structured op is listed as its .out overload, other ops as the overload that reached the device.
EXAMPLES: dict[str, Callable[[torch.Tensor], Any]] = {
    "aten::argmax.out": lambda x: torch.argmax(x),
    "aten::floor.out": lambda x: x.floor(),
    "aten::normal_": lambda x: torch.randn(4, 4, device="neuron"),
    "aten::uniform_": lambda x: torch.rand(4, device="neuron"),
    "aten::_unique2": lambda x: torch.unique(x),
    "aten::sort.values_stable": lambda x: torch.sort(x),
    "aten::atan2.out": lambda x: torch.atan2(x, x),
    "aten::maximum.out": lambda x: torch.maximum(x, x),
    "aten::prod.int_out": lambda x: x.prod(0),
    "aten::prod": lambda x: x.prod(),
    "aten::var.correction": lambda x: x.var(),
    "aten::acos.out": lambda x: torch.acos(x),
    "aten::scatter_reduce.two_out": lambda x: x.scatter_reduce(0, torch.zeros_like(x).long(), x, "sum"),
    "aten::linalg_cross.out": lambda x: torch.linalg.cross(x[:, :3], x[:, :3]),
    "aten::_fft_r2c": lambda x: torch.fft.rfft(x),
    "aten::mse_loss.out": lambda x: torch.nn.functional.mse_loss(x, x),
    "aten::equal": lambda x: torch.equal(x, x.clone()),
    "aten::roll": lambda x: x.roll(1),
    "aten::log1p.out": lambda x: x.log1p(),
    "aten::multinomial": lambda x: torch.multinomial(x.abs() + 1, 1),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_fallback_has_the_name_of_the_real_product(name: str) -> None:
    x = torch.ones(4, 4, device="neuron")
    clear_op_tracking()
    EXAMPLES[name](x)
    assert get_fallback_ops() == [name]


@pytest.mark.parametrize("form", [lambda x: x.floor(), lambda x: x.floor_(), lambda x: torch.floor(x, out=x)])
def test_the_three_forms_of_a_structured_op(form: Callable[[torch.Tensor], Any]) -> None:
    form(torch.ones(3, device="neuron"))
    assert get_fallback_ops() == ["aten::floor.out"]


def test_names_are_unique_and_in_order_of_first_use() -> None:
    x = torch.ones(4, device="neuron")
    clear_op_tracking()
    for _ in range(3):
        x.floor(), x.relu(), x.argmax(), torch.unique(x), x.add(1), x.argmax()
    assert get_fallback_ops() == ["aten::floor.out", "aten::argmax.out", "aten::_unique2"]
    assert get_executed_ops() == ["aten::relu", "aten::add.Tensor"]
    for names in (get_fallback_ops(), get_executed_ops()):
        assert type(names) is list
        assert all(type(name) is str for name in names)


def test_view_like_ops_are_never_fallbacks() -> None:
    z = torch.view_as_complex(torch.ones(3, 4, 2, device="neuron"))
    torch.view_as_real(z.conj().resolve_conj().permute(1, 0)).unfold(0, 2, 1).detach()
    x = torch.ones(2, 6, device="neuron")
    (
        x.view(3, 4).t().expand(2, 4, 3).select(0, 1).squeeze(),
        x.unbind(),
        x.split(2),
        x.diagonal(),
        x.as_strided((2,), (1,)),
    )
    assert not {"aten::view_as_real", "aten::view_as_complex", "aten::unfold"} & set(get_fallback_ops())


def test_executed_names_are_the_dispatchers_full_names() -> None:
    x = torch.ones(4, 4, device="neuron")
    clear_op_tracking()
    x @ x, x.sum(1), x.softmax(-1), torch.nn.functional.linear(x, x), torch.stack([x, x]), x.repeat(2, 2), x.cpu()
    assert get_executed_ops() == [
        "aten::mm",
        "aten::sum.dim_IntList",
        "aten::_softmax",
        "aten::linear",
        "aten::stack",
        "aten::repeat",
        "aten::copy_",
    ]


def test_executed_and_fallback_do_not_mix() -> None:
    x = torch.ones(4, device="neuron")
    clear_op_tracking()
    x.floor(), x.relu()
    assert get_fallback_ops() == ["aten::floor.out"]
    assert get_executed_ops() == ["aten::relu"]


def test_results_without_elements_count() -> None:
    x = torch.ones(0, device="neuron")
    clear_op_tracking()
    x.relu(), x.floor()
    assert get_executed_ops() == ["aten::relu"]
    assert get_fallback_ops() == ["aten::floor.out"]


def test_an_op_that_raises_did_not_run() -> None:
    x = torch.ones(3, device="neuron")
    clear_op_tracking()
    with pytest.raises(RuntimeError):
        x + torch.ones(2, device="neuron")
    with pytest.raises(IndexError):
        x.argmax(4)
    with pytest.raises(IndexError):
        x.cumsum(4)
    assert get_fallback_ops() == []
    assert get_executed_ops() == ["aten::ones"]


def test_clear() -> None:
    x = torch.ones(3, device="neuron")
    x.floor()
    assert clear_op_tracking() is None
    assert get_fallback_ops() == get_executed_ops() == []
    x.floor()
    assert get_fallback_ops() == ["aten::floor.out"]


def test_names_are_of_the_process() -> None:
    worker = Thread(target=lambda: torch.ones(3, device="neuron:1").floor())
    worker.start()
    worker.join()
    assert get_fallback_ops() == ["aten::floor.out"]


def test_backward_is_recorded() -> None:
    x = torch.ones(3, device="neuron", requires_grad=True)
    y = x.tan().sum()
    clear_op_tracking()
    y.backward()
    assert get_fallback_ops() == []
    assert "aten::mul.Tensor" in get_executed_ops()
    z = torch.nn.functional.elu(x).sum()
    clear_op_tracking()
    z.backward()
    assert get_fallback_ops() == ["aten::elu_backward.grad_input"]


def test_host_ops_are_not_recorded() -> None:
    torch.ones(3).floor().unique()
    assert get_fallback_ops() == get_executed_ops() == []


def test_printing_a_tensor_records_no_arithmetic() -> None:
    x = torch.arange(30.0, device="neuron")
    clear_op_tracking()
    assert "neuron:0" in repr(x)
    assert get_fallback_ops() == []
    assert set(get_executed_ops()) <= {"aten::copy_", "aten::empty_strided"}
