"""Hugging Face transformers: ``generate`` on the device gives the tokens that it gives on CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

pytestmark = pytest.mark.ecosystem

NEW_TOKENS = 8
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@pytest.fixture(scope="module")
def transformers(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("transformers")


def llama(t: ModuleType) -> tuple[Any, dict[str, Tensor]]:
    config = t.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, **SPECIAL,
    )  # fmt: skip
    mask = torch.tensor([[1] * 12, [0] * 4 + [1] * 8])
    return t.LlamaForCausalLM(config), {"input_ids": torch.randint(3, 64, (2, 12)), "attention_mask": mask}


def whisper(t: ModuleType) -> tuple[Any, dict[str, Tensor]]:
    config = t.WhisperConfig(
        vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=20,
        max_target_positions=32, decoder_start_token_id=1, begin_suppress_tokens=None, **SPECIAL,
    )  # fmt: skip
    return t.WhisperForConditionalGeneration(config), {"input_features": torch.randn(2, 8, 40)}


def t5(t: ModuleType) -> tuple[Any, dict[str, Tensor]]:
    config = t.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
    return t.T5ForConditionalGeneration(config), {"input_ids": torch.randint(3, 64, (2, 12))}


Build = Callable[[ModuleType], tuple[Any, dict[str, Tensor]]]

WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "no cache": {"do_sample": False, "use_cache": False},
    "sampled": {"do_sample": True, "temperature": 0.8, "top_k": 10, "top_p": 0.9},
    "beams": {"do_sample": False, "num_beams": 3},
    "penalties": {"do_sample": False, "repetition_penalty": 1.2, "no_repeat_ngram_size": 2},
}


def generate(build: Build, t: ModuleType, device: str, **options: Any) -> list[list[int]]:
    torch.manual_seed(0)
    model, inputs = build(t)
    model.to(device).eval()
    torch.manual_seed(1)
    inputs = {name: value.to(device) for name, value in inputs.items()}
    found = model.generate(**inputs, max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, **options)
    assert found.device.type == torch.device(device).type
    return found.tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("build", [llama, whisper, t5], ids=lambda f: f.__name__)
def test_tokens_are_those_of_cpu(build: Build, way: str, transformers: ModuleType) -> None:
    found = generate(build, transformers, "neuron", **WAYS[way])
    assert found == generate(build, transformers, "cpu", **WAYS[way])
    assert len(found[0]) >= NEW_TOKENS


@pytest.mark.filterwarnings("ignore::torch_neuron_sim.dynamo.CompileWarning")
@pytest.mark.parametrize("build", [llama, whisper, t5], ids=lambda f: f.__name__)
def test_static_cache_which_transformers_compiles_for_neuron(build: Build, transformers: ModuleType) -> None:
    torch.compiler.reset()
    found = generate(build, transformers, "neuron", do_sample=False, cache_implementation="static")
    assert found == generate(build, transformers, "cpu", do_sample=False)


def test_a_draft_model_helps_without_changing_the_text(transformers: ModuleType) -> None:
    def run(device: str, **options: Any) -> list[list[int]]:
        torch.manual_seed(0)
        model, inputs = llama(transformers)
        one = {name: value[:1].to(device) for name, value in inputs.items()}
        return model.to(device).eval().generate(**one, max_new_tokens=NEW_TOKENS, do_sample=False, **options).tolist()

    assert run("neuron", prompt_lookup_num_tokens=3) == run("cpu", prompt_lookup_num_tokens=3) == run("cpu")


def test_offloaded_cache_wants_cuda(transformers: ModuleType) -> None:
    with pytest.raises(AssertionError, match="CUDA"):
        generate(llama, transformers, "neuron", do_sample=False, cache_implementation="offloaded")
