"""Models on another device than the first, and on two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn


def train(model: nn.Module, device: str, steps: int = 3) -> list[Tensor]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, foreach=True)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(6, 4).to(device)).square().mean().backward()
        optimizer.step()
    return list(model.parameters())


def test_model_on_the_second_device_while_the_first_is_current(on_both: Any, allocated: Callable[..., int]) -> None:
    def run(device: str) -> list[Tensor]:
        return train(
            nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.BatchNorm1d(8), nn.Linear(8, 1)).to(device), device
        )

    before = allocated(0)
    on_both(run, "neuron:1")
    assert torch.accelerator.current_device_index() == 0
    assert allocated(0) == before


class Split(nn.Module):
    """Its halves live on two devices."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8).to(first), nn.Linear(8, 2).to(second)
        self.places = first, second

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x.to(self.places[0])).tanh()
        return self.second(hidden.to(self.places[1])).to(self.places[0])


def test_model_on_two_devices_trains_as_on_one() -> None:
    results = []
    for places in (("cpu", "cpu"), ("neuron:0", "neuron:1"), ("cpu", "neuron:1")):
        torch.manual_seed(0)
        results.append([parameter.detach().cpu() for parameter in train(Split(*places), places[0])])
    for split in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(split, results[0], strict=True))


def test_gradient_arrives_on_the_device_of_its_leaf() -> None:
    leaves = {device: torch.ones(3, device=device, requires_grad=True) for device in ("cpu", "neuron:0", "neuron:1")}
    total = sum(leaf.to("neuron:0") * (index + 1) for index, leaf in enumerate(leaves.values()))
    total.to("neuron:1").sum().cpu().backward()
    for index, (device, leaf) in enumerate(leaves.items()):
        assert leaf.grad is not None
        assert leaf.grad.device == torch.device(device)
        assert leaf.grad.tolist() == [index + 1] * 3


def test_copy_between_devices_keeps_values_and_strides() -> None:
    x = torch.arange(12.0).view(3, 4).to("neuron:0").t()
    y = x.to("neuron:1")
    assert y.stride() == x.stride() == (1, 4)
    assert torch.equal(y.cpu(), x.cpu())
    y.zero_()
    assert x.sum().item() == 66


@pytest.mark.parametrize("other", ["cpu", "neuron:1"])
def test_tensors_of_two_devices_do_not_mix(other: str) -> None:
    with pytest.raises(
        RuntimeError, match=rf"Expected all tensors to be on the same device.*neuron:0.*{other}|{other}.*neuron:0"
    ):
        torch.ones(3, device="neuron:0") + torch.ones(3, device=other)
    with pytest.raises(RuntimeError, match="same device"):
        nn.Linear(3, 3).to("neuron:0")(torch.ones(1, 3, device=other))
    assert (torch.ones(3, device="neuron:0") + torch.tensor(1.0)).tolist() == [2, 2, 2]


def test_current_device_is_where_new_tensors_go() -> None:
    with torch.neuron.device(1):
        x = torch.ones(2, device="neuron")
        assert x.device == torch.device("neuron:1")
        assert (x + 1).device == torch.device("neuron:1")
    assert torch.ones(2, device="neuron").device == torch.device("neuron:0")
    assert (x + 1).device == torch.device("neuron:1")


def test_data_parallel_by_hand_gives_the_gradient_of_the_whole_batch() -> None:
    torch.manual_seed(0)
    whole = nn.Linear(4, 2)
    copies = [nn.Linear(4, 2).to(f"neuron:{index}") for index in range(2)]
    for replica in copies:
        replica.load_state_dict(whole.state_dict())
    x = torch.randn(8, 4)
    whole(x).square().sum().backward()
    for replica, part in zip(copies, x.chunk(2), strict=True):
        replica(part.to(replica.weight.device)).square().sum().backward()
    assert copies[0].weight.grad is not None and copies[1].weight.grad is not None
    total = copies[0].weight.grad + copies[1].weight.grad.to("neuron:0")
    torch.testing.assert_close(total.cpu(), whole.weight.grad, rtol=1e-5, atol=1e-6)
