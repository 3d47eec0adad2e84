"""Hugging Face peft: adapters train on the device as on CPU, are saved, loaded and merged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

pytestmark = pytest.mark.ecosystem

ADAPTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lora": ("LoraConfig", {"r": 4, "lora_dropout": 0.1, "target_modules": ["q_proj", "v_proj"]}),
    "dora": ("LoraConfig", {"r": 4, "use_dora": True, "target_modules": ["q_proj", "v_proj"]}),
    "pissa": ("LoraConfig", {"r": 4, "init_lora_weights": "pissa", "target_modules": ["q_proj", "v_proj"]}),
    "ia3": ("IA3Config", {"target_modules": ["k_proj", "down_proj"], "feedforward_modules": ["down_proj"]}),
    "prompt": ("PromptTuningConfig", {"num_virtual_tokens": 4}),
}


class Run(NamedTuple):
    losses: list[float]
    text: list[list[int]]
    model: Any


@pytest.fixture(scope="module")
def peft(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("peft")


@pytest.fixture(scope="module")
def base(library: Callable[[str], ModuleType]) -> Callable[[], Any]:
    """Makes the model that is adapted: the same each time."""
    transformers = library("transformers")

    def make() -> Any:
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            pad_token_id=0,
        )  # fmt: skip
        return transformers.LlamaForCausalLM(config)

    return make


def prompt(device: str) -> Tensor:
    return torch.randint(3, 64, (2, 10), generator=torch.Generator().manual_seed(0)).to(device)


def train(peft: ModuleType, base: Callable[[], Any], adapter: str, device: str, moved_first: bool = False) -> Run:
    kind, options = ADAPTERS[adapter]
    model = base().to(device) if moved_first else base()
    torch.manual_seed(1)
    model = peft.get_peft_model(model, getattr(peft, kind)(task_type="CAUSAL_LM", **options)).to(device)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2, foreach=False)
    text, losses = prompt(device), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(input_ids=text, labels=text).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    mask = torch.ones_like(text)
    written = model.generate(input_ids=text, attention_mask=mask, max_new_tokens=4, do_sample=False)
    return Run(losses, written.tolist(), model)


@pytest.mark.parametrize("moved_first", [False, True], ids=["moved after", "moved before"])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_losses_text_and_weights_are_those_of_cpu(
    adapter: str, moved_first: bool, peft: ModuleType, base: Callable[[], Any], bits: Callable[[Any], Any],
    devices_of: Callable[..., set[str]],
) -> None:  # fmt: skip
    expected = train(peft, base, adapter, "cpu")
    found = train(peft, base, adapter, "neuron", moved_first)
    assert (found.losses, found.text) == (expected.losses, expected.text)
    assert found.losses[0] != found.losses[-1]
    assert devices_of(found.model) == {"neuron:0"}
    assert bits(found.model.state_dict()) == bits(expected.model.state_dict())


def test_adapter_is_saved_loaded_and_merged(
    peft: ModuleType, base: Callable[[], Any], tmp_path: Path, devices_of: Callable[..., set[str]]
) -> None:
    model = train(peft, base, "lora", "neuron").model
    model.save_pretrained(tmp_path)
    loaded = peft.PeftModel.from_pretrained(base().to("neuron"), tmp_path).eval()
    assert devices_of(loaded) == {"neuron:0"}
    text = prompt("neuron")
    with torch.no_grad():
        logits = model(text).logits
        assert torch.equal(loaded(text).logits, logits)
        with model.disable_adapter():
            assert not torch.equal(model(text).logits, logits)
        merged = model.merge_and_unload()
        assert devices_of(merged) == {"neuron:0"}
        torch.testing.assert_close(merged(text).logits, logits)
