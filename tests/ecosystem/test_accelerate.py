"""Hugging Face accelerate: a loop that it prepared trains on the device as on CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

pytestmark = pytest.mark.ecosystem


def forget(accelerate: ModuleType) -> None:
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()


@pytest.fixture
def accelerate(library: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """With nothing left of an accelerator that was made before: it keeps its state for the whole process."""
    module = library("accelerate")
    forget(module)
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")  # an accelerator writes here
    yield module
    forget(module)


class Tied(nn.Module):
    """Input and output share a weight, which PyTorch must not part when the module moves."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.hidden = nn.Embedding(20, 8), nn.Linear(8, 8)
        self.out = nn.Linear(8, 20, bias=False)
        self.out.weight = self.embedding.weight

    def forward(self, text: Tensor) -> Tensor:
        return self.out(nn.functional.dropout(self.hidden(self.embedding(text)).relu(), 0.1, self.training))


def train(accelerate: ModuleType, *, cpu: bool, **options: Any) -> tuple[list[float], Any, Any, Any]:
    """The losses, and what prepare() gave: the accelerator, the module and the optimizer."""
    forget(accelerate)
    accelerator = accelerate.Accelerator(cpu=cpu, **options)
    accelerate.utils.set_seed(0)
    module = Tied()
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2, foreach=False)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    loader = DataLoader(TensorDataset(torch.randint(20, (32, 6))), batch_size=8, shuffle=True)
    module, optimizer, loader, schedule = accelerator.prepare(module, optimizer, loader, schedule)
    losses = []
    for (text,) in [*loader, *loader]:
        assert text.device.type == accelerator.device.type
        with accelerator.accumulate(module):
            loss = nn.functional.cross_entropy(module(text).flatten(0, 1), text.flatten())
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).item())
    return losses, accelerator, module, optimizer


def test_the_device_is_found(accelerate: ModuleType) -> None:
    assert accelerate.utils.is_neuron_available()
    assert accelerate.Accelerator().device == torch.device("neuron")


@pytest.mark.parametrize(
    "options",
    [{}, {"gradient_accumulation_steps": 2}, {"mixed_precision": "bf16"}],
    ids=["plain", "accumulated", "bf16"],
)
def test_losses_and_weights_are_those_of_cpu(
    options: dict[str, Any], accelerate: ModuleType, bits: Callable[[Any], Any], devices_of: Callable[..., set[str]]
) -> None:
    expected, _, on_cpu, _ = train(accelerate, cpu=True, **options)
    found, _, module, _ = train(accelerate, cpu=False, **options)
    assert found == expected
    assert found[-1] < found[0]
    assert devices_of(module) == {"neuron:0"}
    assert bits(module.state_dict()) == bits(on_cpu.state_dict())


def test_prepare_keeps_tied_weights_tied_and_in_the_optimizer(accelerate: ModuleType) -> None:
    _, accelerator, module, optimizer = train(accelerate, cpu=False)
    module = accelerator.unwrap_model(module)
    assert module.out.weight is module.embedding.weight
    trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert trained == {id(p) for p in module.parameters()}


def test_state_is_saved_and_restored_with_the_random_numbers(accelerate: ModuleType, tmp_path: Path) -> None:
    _, accelerator, module, _ = train(accelerate, cpu=False)
    accelerator.save_state(str(tmp_path))
    assert (tmp_path / "model.safetensors").exists()
    weights, drawn = [p.detach().clone() for p in module.parameters()], torch.rand(3, device="neuron")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    accelerator.load_state(str(tmp_path))
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), weights, strict=True))
    assert torch.equal(torch.rand(3, device="neuron"), drawn)


def layers() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(4)))


def test_layers_are_placed_on_two_devices_and_the_host(accelerate: ModuleType, tmp_path: Path) -> None:
    torch.save(layers().state_dict(), tmp_path / "weights.pt")
    with accelerate.init_empty_weights():
        empty = layers()
    places = {"0": 0, "1": "neuron:1", "2": "cpu", "3": 0}
    placed = accelerate.load_checkpoint_and_dispatch(empty, str(tmp_path / "weights.pt"), device_map=places)
    assert [str(placed[i].weight.device) for i in range(4)] == ["neuron:0", "neuron:1", "meta", "neuron:0"]
    x = torch.randn(2, 8)
    assert torch.equal(placed(x.to("neuron")).cpu(), layers()(x))


def test_weights_that_stay_on_the_host_are_lent_to_the_device(accelerate: ModuleType) -> None:
    module, x = layers(), torch.randn(2, 8)
    expected = module(x)
    accelerate.cpu_offload(module, execution_device=torch.device("neuron"))
    assert torch.equal(module(x.to("neuron")).cpu(), expected)


def test_parameters_can_be_made_on_the_device(accelerate: ModuleType) -> None:
    with accelerate.init_on_device(torch.device("neuron", 1)):
        assert layers()[0].weight.device == torch.device("neuron", 1)


def test_batch_size_that_does_not_fit_is_made_smaller(accelerate: ModuleType) -> None:
    tried = []

    @accelerate.utils.find_executable_batch_size(starting_batch_size=32)
    def run(batch_size: int) -> int:
        tried.append(batch_size)
        torch.empty(batch_size, 1 << 30, dtype=torch.uint8, device="neuron")
        return batch_size

    capacity = torch.neuron.get_device_properties(0).total_memory >> 30
    assert run() == tried[-1] <= capacity < tried[0]


def test_tensors_are_sent_and_gathered(accelerate: ModuleType) -> None:
    sent = accelerate.utils.send_to_device({"a": torch.ones(2), "b": [torch.ones(1), "text"]}, "neuron:1")
    assert (sent["a"].device, sent["b"][0].device, sent["b"][1]) == (torch.device("neuron:1"),) * 2 + ("text",)
    assert accelerate.Accelerator().gather_for_metrics(sent["a"]) is sent["a"]


def test_what_accelerate_does_not_give_to_neuron(accelerate: ModuleType) -> None:
    """If one of these fails, accelerate has learned it: docs/ecosystem.md is to be changed."""
    with pytest.raises(ValueError, match="fp16 mixed precision requires"):
        accelerate.Accelerator(mixed_precision="fp16")
    assert set(accelerate.utils.get_max_memory()) == {"cpu"}
