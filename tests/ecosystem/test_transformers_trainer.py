"""Hugging Face transformers: ``Trainer`` takes the device by itself, and its losses are those of CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

pytestmark = pytest.mark.ecosystem


@pytest.fixture(scope="module")
def transformers(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("transformers")


class Texts(Dataset[dict[str, Any]]):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> dict[str, Any]:
        text = torch.randint(3, 64, (12,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": text, "attention_mask": torch.ones(12, dtype=torch.long), "labels": index % 2}


def trainer(t: ModuleType, folder: Path, cpu: bool = False, **options: Any) -> Any:
    torch.manual_seed(0)
    config = t.BertConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        attn_implementation="eager",
    )  # fmt: skip
    arguments = t.TrainingArguments(
        output_dir=str(folder), use_cpu=cpu, per_device_train_batch_size=8, max_steps=6, logging_steps=1, save_steps=3,
        report_to=[], seed=3, disable_tqdm=True, **options,
    )  # fmt: skip
    model = t.BertForSequenceClassification(config)
    return t.Trainer(model=model, args=arguments, train_dataset=Texts(), eval_dataset=Texts())


def losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulated": {"gradient_accumulation_steps": 2},
    "checkpointed": {"activation_checkpointing": True},
    "adafactor": {"optim": "adafactor"},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_losses_and_weights_are_those_of_cpu(
    options: str, transformers: ModuleType, tmp_path: Path, bits: Callable[[Any], Any]
) -> None:
    runs = []
    for cpu in (True, False):
        made = trainer(transformers, tmp_path, cpu, save_strategy="no", **OPTIONS[options])
        made.train()
        runs.append(
            (losses(made), made.evaluate()["eval_loss"], made.predict(Texts()).predictions.tolist(), made.model)
        )
    assert len(runs[1][0]) == 6
    assert runs[1][:3] == runs[0][:3]
    assert {str(p.device) for p in runs[1][3].parameters()} == {"neuron:0"}
    assert bits(runs[1][3].state_dict()) == bits(runs[0][3].state_dict())


def test_device_is_taken_without_being_asked_for(transformers: ModuleType, tmp_path: Path) -> None:
    made = trainer(transformers, tmp_path)
    assert made.args.device == torch.device("neuron", 0)
    assert made.args.n_gpu == 1
    assert trainer(transformers, tmp_path, cpu=True).args.device.type == "cpu"


def test_resumes_from_a_checkpoint_as_if_it_had_not_stopped(
    transformers: ModuleType, tmp_path: Path, bits: Callable[[Any], Any]
) -> None:
    whole = trainer(transformers, tmp_path)
    whole.train()
    resumed = trainer(transformers, tmp_path)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert losses(resumed) == losses(whole)
    assert bits(resumed.model.state_dict()) == bits(whole.model.state_dict())


def test_bfloat16_autocast(transformers: ModuleType, tmp_path: Path) -> None:
    made, seen = trainer(transformers, tmp_path, bf16=True, save_strategy="no"), set()
    made.model.bert.encoder.layer[0].intermediate.dense.register_forward_hook(lambda m, i, out: seen.add(out.dtype))
    made.train()
    assert seen == {torch.bfloat16}
    assert {p.dtype for p in made.model.parameters()} == {torch.float32}
    plain = trainer(transformers, tmp_path, save_strategy="no")
    plain.train()
    assert losses(made) == pytest.approx(losses(plain), abs=1e-2)
