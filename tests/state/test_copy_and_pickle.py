"""copy.copy, copy.deepcopy and pickle of tensors, storages and modules."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


COPIES: dict[str, Callable[[Any], Any]] = {"deepcopy": copy.deepcopy, "pickle": pickled}


@pytest.fixture(params=list(COPIES))
def duplicate(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return COPIES[request.param]


@pytest.mark.parametrize("device", ["neuron:0", "neuron:1"])
@pytest.mark.parametrize("shape", [(2, 3), (0, 4), ()])
def test_copy_is_equal_and_apart(duplicate: Callable[[Any], Any], device: str, shape: tuple[int, ...]) -> None:
    original = torch.ones(shape, device=device)
    made = duplicate(original)
    assert made.device == torch.device(device)
    assert (made.shape, made.stride(), made.dtype) == (original.shape, original.stride(), original.dtype)
    made.add_(1)
    assert torch.equal(original.cpu(), torch.ones(shape))
    assert torch.equal(made.cpu(), torch.full(shape, 2.0))


def test_strides_and_offset_survive(duplicate: Callable[[Any], Any]) -> None:
    base = torch.arange(24.0).to("neuron").view(4, 6)
    view = duplicate(base.t()[1:4, ::2])
    assert (view.stride(), view.storage_offset()) == ((1, 12), 1)
    assert torch.equal(view.cpu(), torch.arange(24.0).view(4, 6).t()[1:4, ::2])


def test_views_of_one_storage_share_it_in_a_deepcopy() -> None:
    base = torch.arange(24.0).to("neuron").view(4, 6)
    whole, view = copy.deepcopy([base, base.t()[1:4, ::2]])
    view.fill_(-1)
    assert int((whole.cpu() == -1).sum()) == 6
    assert int((base.cpu() == -1).sum()) == 0


def test_gradient_and_flag_survive_deepcopy() -> None:
    leaf = torch.ones(3, device="neuron", requires_grad=True)
    (leaf * 2).sum().backward()
    made = copy.deepcopy(leaf)
    assert made.requires_grad
    assert made.grad is not None and leaf.grad is not None
    assert made.grad.device.type == "neuron"
    made.grad.zero_()
    assert leaf.grad.tolist() == [2, 2, 2]


def test_python_attributes_survive(duplicate: Callable[[Any], Any]) -> None:
    tensor = torch.ones(2, device="neuron")
    tensor.note = "kept"
    assert duplicate(tensor).note == "kept"


class Tagged(Tensor):
    def new_empty(self, *args: Any, **kwargs: Any) -> Tagged:
        return super().new_empty(*args, **kwargs).as_subclass(Tagged)


def test_parameter_stays_one(duplicate: Callable[[Any], Any]) -> None:
    for parameter in (nn.Parameter(torch.ones(2, device="neuron:1")), nn.Parameter(torch.ones(2), False).neuron()):
        made = duplicate(parameter)
        assert type(made) is type(parameter)
        assert (made.device, made.requires_grad) == (parameter.device, parameter.requires_grad)
        assert made.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64], ids=str)
def test_dtypes_survive(duplicate: Callable[[Any], Any], dtype: torch.dtype) -> None:
    tensor = torch.tensor([0, 1, 1]).to(dtype)
    for made in (duplicate(tensor.to("neuron")), copy.copy(tensor.to("neuron"))):
        assert (made.dtype, made.device.type) == (dtype, "neuron")
        assert torch.equal(made.cpu().view(torch.uint8), tensor.view(torch.uint8))


def test_state_of_an_optimizer_is_copied_apart(duplicate: Callable[[Any], Any]) -> None:
    module = nn.Linear(3, 2).to("neuron")
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(1, 3, device="neuron")).sum().backward()
    optimizer.step()
    made = duplicate(optimizer.state_dict())
    for index, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            assert made["state"][index][name].device == value.device
            assert torch.equal(made["state"][index][name].cpu(), value.cpu())
            assert made["state"][index][name].data_ptr() != value.data_ptr()


def test_subclass_survives_deepcopy() -> None:
    made = copy.deepcopy(torch.ones(2, device="neuron").as_subclass(Tagged))
    assert type(made) is Tagged
    assert made.tolist() == [1, 1]
    assert made.device.type == "neuron"


def test_shallow_copy_shares_memory() -> None:
    tensor = torch.arange(4.0).to("neuron")
    made = copy.copy(tensor)
    assert made is not tensor
    assert made.data_ptr() == tensor.data_ptr()
    made[0] = 9
    assert tensor.tolist() == [9, 1, 2, 3]


def test_shallow_copy_of_a_module_shares_its_parameters() -> None:
    module = nn.Linear(2, 2).to("neuron")
    assert copy.copy(module).weight is module.weight


def test_module_copy_computes_the_same_and_trains_apart(duplicate: Callable[[Any], Any]) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).to("neuron")
    made = duplicate(module)
    x = torch.randn(5, 4).to("neuron")
    assert torch.equal(module(x), made(x))
    before = module[0].weight.detach().clone()
    with torch.no_grad():
        made[0].weight.zero_()
    assert torch.equal(module[0].weight, before)


def test_tied_weights_stay_tied_to_each_other(duplicate: Callable[[Any], Any]) -> None:
    module = nn.ModuleList([nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)])
    module[1].weight = module[0].weight
    made = duplicate(module.to("neuron"))
    assert made[0].weight is made[1].weight
    assert made[0].weight is not module[0].weight


def test_deepcopy_of_a_tensor_of_a_graph_is_refused_as_on_cpu() -> None:
    for device in ("cpu", "neuron"):
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            copy.deepcopy(torch.ones(2, device=device, requires_grad=True) * 2)


def test_copies_free_their_memory(allocated: Callable[..., int]) -> None:
    tensor = torch.ones(1000, device="neuron")
    before = allocated()
    made = [copy.deepcopy(tensor), pickled(tensor)]
    assert allocated() == before + 2 * 4096
    del made
    assert allocated() == before
