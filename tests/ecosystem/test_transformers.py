"""Hugging Face transformers: models with random weights train on the device as on CPU, and find it by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

import torch_neuron_sim

pytestmark = pytest.mark.ecosystem

Inputs = dict[str, Tensor]
SMALL = {"vocab_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}


@pytest.fixture(scope="module")
def transformers(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("transformers")


def tokens(*shape: int) -> Tensor:
    return torch.randint(3, 64, shape)


def bert(t: ModuleType) -> tuple[Any, Inputs]:
    model = t.BertForSequenceClassification(t.BertConfig(**SMALL, max_position_embeddings=64))
    mask = torch.tensor([[1] * 12, [1] * 8 + [0] * 4])
    return model, {"input_ids": tokens(2, 12), "attention_mask": mask, "labels": torch.tensor([0, 1])}


def llama(t: ModuleType) -> tuple[Any, Inputs]:
    text = tokens(2, 12)
    return t.LlamaForCausalLM(t.LlamaConfig(**SMALL, num_key_value_heads=2)), {"input_ids": text, "labels": text}


def mixtral(t: ModuleType) -> tuple[Any, Inputs]:
    text = tokens(2, 12)
    config = t.MixtralConfig(**SMALL, num_key_value_heads=2, num_local_experts=4, output_router_logits=True)
    return t.MixtralForCausalLM(config), {"input_ids": text, "labels": text}


def vit(t: ModuleType) -> tuple[Any, Inputs]:
    sizes = {name: value for name, value in SMALL.items() if name != "vocab_size"}
    model = t.ViTForImageClassification(t.ViTConfig(**sizes, image_size=32, patch_size=8))
    return model, {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.tensor([0, 1])}


def whisper(t: ModuleType) -> tuple[Any, Inputs]:
    parts = {f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")}
    config = t.WhisperConfig(
        vocab_size=64, d_model=32, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=20,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **parts,
    )  # fmt: skip
    model = t.WhisperForConditionalGeneration(config)
    return model, {"input_features": torch.randn(2, 8, 40), "labels": tokens(2, 10)}


def t5(t: ModuleType) -> tuple[Any, Inputs]:
    config = t.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
    return t.T5ForConditionalGeneration(config), {"input_ids": tokens(2, 12), "labels": tokens(2, 8)}


Build = Callable[[ModuleType], tuple[Any, Inputs]]
every_model = pytest.mark.parametrize("build", [bert, llama, mixtral, vit, whisper, t5], ids=lambda f: f.__name__)


def run(build: Build, t: ModuleType, device: str, prepare: Callable[[Any], Any]) -> dict[str, Any]:
    torch.manual_seed(0)
    model, inputs = build(t)
    prepare(model)
    model.to(device).train()
    torch.manual_seed(1)  # dropout
    output = model(**{name: value.to(device) for name, value in inputs.items()})
    output.loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert {tensor.device.type for tensor in (output.logits, *gradients.values())} == {torch.device(device).type}
    return {"loss": output.loss, "logits": output.logits, "gradients": gradients}


@every_model
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_loss_logits_and_gradients_have_the_bits_of_cpu(
    build: Build, attention: str, transformers: ModuleType, bits: Callable[[Any], Any]
) -> None:
    def prepare(model: Any) -> None:
        model.set_attn_implementation(attention)

    expected = bits(run(build, transformers, "cpu", prepare))
    found = bits(run(build, transformers, "neuron", prepare))
    assert [name for name in expected["gradients"] if found["gradients"][name] != expected["gradients"][name]] == []
    assert found == expected


def test_gradient_checkpointing_changes_nothing(transformers: ModuleType, bits: Callable[[Any], Any]) -> None:
    plain = run(llama, transformers, "neuron", lambda model: None)
    saved = run(llama, transformers, "neuron", lambda model: model.activation_checkpointing_enable())
    assert bits(saved) == bits(plain)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision(dtype: torch.dtype, transformers: ModuleType, bits: Callable[[Any], Any]) -> None:
    cpu, neuron = (run(llama, transformers, device, lambda model: model.to(dtype)) for device in ("cpu", "neuron"))
    assert neuron["logits"].dtype == dtype
    assert bits(neuron) == bits(cpu)


def test_experts_are_counted_on_the_device(transformers: ModuleType) -> None:
    """A mixture of experts counts the tokens of each with integer histc, which must not leave the device."""
    run(mixtral, transformers, "neuron", lambda model: None)
    assert "aten::histc" in torch_neuron_sim.get_executed_ops()
    assert not [name for name in torch_neuron_sim.get_fallback_ops() if "histc" in name]


@every_model
def test_tied_weights_stay_tied_and_parameters_the_same_objects(build: Build, transformers: ModuleType) -> None:
    model, _ = build(transformers)
    before = list(model.parameters())
    model.to("neuron:1")
    assert all(p is q for p, q in zip(before, model.parameters(), strict=True))
    assert {str(p.device) for p in before} == {"neuron:1"}
    if getattr(model.config, "tie_word_embeddings", False) and model.get_output_embeddings() is not None:
        assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


@pytest.mark.parametrize("device_map", ["neuron", {"": "neuron:1"}], ids=str)
def test_checkpoint_loads_straight_to_the_device(
    device_map: Any, transformers: ModuleType, tmp_path: Path, devices_of: Callable[..., set[str]]
) -> None:
    torch.manual_seed(0)
    model, inputs = llama(transformers)
    model.to("neuron").save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, device_map=device_map)
    (device,) = devices_of(loaded)
    assert device == ("neuron:0" if device_map == "neuron" else "neuron:1")
    logits = loaded(inputs["input_ids"].to(device)).logits
    assert torch.equal(logits.cpu(), model.eval()(inputs["input_ids"].to("neuron")).logits.cpu())
