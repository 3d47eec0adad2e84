"""Text generation with a cache of keys and values."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

LENGTH = 12


@torch.no_grad()
def generate(model: Any, prompt: Tensor, *, cached: bool, sample: bool) -> tuple[Tensor, Tensor]:
    """The text, prompt included, and the logits that led to each new token."""
    caches: list[dict[str, Tensor]] | None = [{} for _ in model.blocks] if cached else None
    text, all_logits = prompt, []
    for step in range(LENGTH):
        logits = model(text if caches is None or step == 0 else text[:, -1:], caches)[:, -1]
        all_logits.append(logits)
        token = torch.multinomial(logits.softmax(-1), 1) if sample else logits.argmax(-1, keepdim=True)
        text = torch.cat([text, token], dim=1)
    return text.cpu(), torch.stack(all_logits).cpu()


def run(zoo: ModuleType, device: str, *, cached: bool, sample: bool) -> tuple[Tensor, Tensor]:
    torch.manual_seed(3)
    model = zoo.CASES["gpt"].build().eval().to(device)
    prompt = torch.randint(19, (2, 5)).to(device)
    return generate(model, prompt, cached=cached, sample=sample)


@pytest.mark.parametrize("sample", [False, True], ids=["greedy", "sampled"])
@pytest.mark.parametrize("cached", [False, True], ids=["whole", "cached"])
def test_text_and_logits_are_those_of_cpu(zoo: ModuleType, cached: bool, sample: bool) -> None:
    text, logits = run(zoo, "neuron", cached=cached, sample=sample)
    text_on_cpu, logits_on_cpu = run(zoo, "cpu", cached=cached, sample=sample)
    assert text.tolist() == text_on_cpu.tolist()
    assert torch.equal(logits, logits_on_cpu)


def test_cache_changes_no_token(zoo: ModuleType) -> None:
    text, logits = run(zoo, "neuron", cached=True, sample=False)
    whole_text, whole_logits = run(zoo, "neuron", cached=False, sample=False)
    assert text.tolist() == whole_text.tolist()
    # Other matrix shapes, other order of sums.
    torch.testing.assert_close(logits, whole_logits, rtol=1e-4, atol=1e-5)
