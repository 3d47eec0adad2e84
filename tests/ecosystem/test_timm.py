"""timm: image models with random weights train on the device as on CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytestmark = pytest.mark.ecosystem

SIZE = {"img_size": 64}
SWIN = {**SIZE, "depths": (1, 1, 1, 1), "embed_dim": 24, "window_size": 2, "num_heads": (1, 2, 2, 2)}
MODELS: dict[str, dict[str, Any]] = {
    "resnet10t": {},
    "test_vit": SIZE,
    "test_efficientnet": {},
    "test_convnext": {},
    "test_byobnet": {},
    "test_nfnet": {},
    "mobilenetv3_small_050": {},
    "swin_tiny_patch4_window7_224": SWIN,
}


@pytest.fixture(scope="module")
def timm(library: Callable[[str], ModuleType]) -> ModuleType:
    for part in ("data", "loss", "optim", "scheduler", "utils"):
        library(f"timm.{part}")
    return library("timm")


def make(timm: ModuleType, name: str, device: str) -> tuple[Any, Tensor, Tensor]:
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=5, drop_rate=0.1, **MODELS[name]).to(device)
    return model, torch.randn(2, 3, 64, 64).to(device), torch.tensor([1, 2]).to(device)


@pytest.mark.parametrize("name", MODELS)
def test_outputs_gradients_and_statistics_are_those_of_cpu(
    name: str, timm: ModuleType, bits: Callable[[Any], Any], devices_of: Callable[..., set[str]]
) -> None:
    def run(device: str) -> dict[str, Any]:
        model, images, labels = make(timm, name, device)
        torch.manual_seed(1)
        logits = model(images)
        nn.functional.cross_entropy(logits, labels).backward()
        assert {torch.device(each).type for each in devices_of(model)} == {device}
        gradients = {name: p.grad for name, p in model.named_parameters()}
        with torch.no_grad():
            return {"train": logits, "eval": model.eval()(images), "gradients": gradients, "state": model.state_dict()}

    assert bits(run("neuron")) == bits(run("cpu"))


# foreach is spelled out because its default depends on the device, and both devices shall do the same sums.
@pytest.mark.parametrize("optimizer", ["adamw", "lamb", "lion", "adafactorbv", "muon"])
def test_recipe_of_mixup_averaged_weights_and_schedule(optimizer: str, timm: ModuleType) -> None:
    foreach = {} if optimizer in ("adafactorbv", "muon") else {"foreach": True}

    def run(device: str) -> list[float]:
        model, images, _ = make(timm, "test_vit", device)
        steps = timm.optim.create_optimizer_v2(model, opt=optimizer, lr=1e-3, weight_decay=0.05, **foreach)
        schedule = timm.scheduler.CosineLRScheduler(steps, t_initial=3, warmup_t=1)
        averaged = timm.utils.ModelEmaV3(model, decay=0.5)
        targets = timm.data.mixup.mixup_target(torch.tensor([0, 3]).to(device), 5, lam=0.3, smoothing=0.1)
        torch.manual_seed(1)
        losses = []
        for step in range(3):
            steps.zero_grad()
            loss = timm.loss.SoftTargetCrossEntropy()(model(images), targets)
            loss.backward()
            steps.step()
            schedule.step(step + 1)
            averaged.update(model)
            losses.append(loss.item())
        with torch.no_grad():
            return [*losses, averaged.module.eval()(images).sum().item()]

    assert run("neuron") == run("cpu")
