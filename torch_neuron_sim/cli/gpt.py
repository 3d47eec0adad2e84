"""A small character-level GPT in plain ``torch.nn``, with real text to train it on and its training step.

Nothing here knows about the simulator: the same lines run on any device. Importing the module reads no file and draws
no random number. Everything random (initial weights, batches) comes from a seed on the CPU, so two replicas on two
devices start equal and see the same batches.
"""

from __future__ import annotations

import math
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

TEXT_FILES = ("argparse.py", "configparser.py", "difflib.py", "inspect.py", "textwrap.py")
"""Modules of Python's standard library, present in every supported Python, that make up the training text."""


@dataclass(frozen=True)
class GPTConfig:
    """Sizes of the model. ``width`` must be a multiple of ``heads``."""

    vocabulary: int
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 2


class Block(nn.Module):
    """Causal self-attention and a GELU MLP, each behind a LayerNorm and a residual sum: (B, T, C) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.attention_out = nn.Linear(config.width, config.width)
        self.mlp_norm = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width), nn.GELU(), nn.Linear(4 * config.width, config.width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.attention_norm(x))
        x = x + self.mlp(self.mlp_norm(x))
        return x

    def attend(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        heads = self.query_key_value(x).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        out: Tensor = self.attention_out(mixed.transpose(1, 2).reshape(batch, time, width))
        return out


class GPT(nn.Module):
    """Token ids, int64 of shape (B, T) with T <= ``config.context``, to logits, float32 of shape (B, T, vocabulary)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits


def build_gpt(config: GPTConfig, seed: int) -> GPT:
    """A model on the CPU whose weights depend on ``seed`` alone; the caller's random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed: that would reseed the accelerators too, which fork_rng does not restore here.
        torch.default_generator.manual_seed(seed)
        model = GPT(config)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() > 1:
                    residual = name.endswith(("attention_out.weight", "mlp.2.weight"))
                    parameter.normal_(std=0.02 / math.sqrt(2 * config.layers) if residual else 0.02)
                elif name.endswith("bias"):
                    parameter.zero_()
    return model


class Text:
    """A text as token ids, one for each distinct character in sorted order, and batches of it, all on the CPU."""

    def __init__(self, text: str) -> None:
        self.characters = sorted(set(text))
        index = {character: i for i, character in enumerate(self.characters)}
        self.tokens = torch.tensor([index[character] for character in text], dtype=torch.int64)

    def batch(self, generator: torch.Generator, rows: int, context: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets (the next characters), int64 of shape (rows, context), drawn with ``generator``."""
        starts = torch.randint(len(self.tokens) - context, (rows, 1), generator=generator)
        window = self.tokens[starts + torch.arange(context + 1)]
        return window[:, :-1].contiguous(), window[:, 1:].contiguous()


def load_text(names: Sequence[str] = TEXT_FILES, folder: Path | None = None) -> Text:
    """The text of the named files of Python's standard library (``folder`` overrides where they are looked for).

    Files that cannot be read are left out; FileNotFoundError if that leaves none.
    """
    folder = Path(sysconfig.get_path("stdlib")) if folder is None else folder
    texts: list[str] = []
    for name in names:
        try:
            texts.append((folder / name).read_text(encoding="utf-8"))
        except OSError:
            continue
    if not texts:
        raise FileNotFoundError(
            f"no training text: none of {', '.join(names)} is readable in {folder}; "
            "install the sources of Python's standard library"
        )
    return Text("".join(texts))


class Trainer:
    """A model on a device with its optimizer and schedule: AdamW, clipped gradients, warm-up and cosine decay.

    ``model`` is moved to ``device``. ``steps`` is the length of the schedule.
    """

    def __init__(self, model: GPT, device: torch.device, steps: int, learning_rate: float = 3e-3) -> None:
        self.device = device
        self.model = model.to(device)
        # foreach is spelled out because its default depends on the device, and both devices shall do the same sums.
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.1, foreach=True)
        warmup = max(1, steps // 10)

        def scale(step: int) -> float:
            if step < warmup:
                return (step + 1) / warmup
            return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, scale)

    def step(self, inputs: Tensor, targets: Tensor) -> float:
        """Trains on one batch, given on the CPU, and returns its loss in nats per character."""
        inputs, targets = inputs.to(self.device), targets.to(self.device)
        logits = self.model(inputs)
        loss = functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
        self.optimizer.step()
        self.schedule.step()
        return float(loss.item())

    @torch.no_grad()
    def accuracy(self, inputs: Tensor, targets: Tensor) -> float:
        """The share of characters of a batch, given on the CPU, that the model predicts right."""
        predicted = self.model(inputs.to(self.device)).argmax(dim=-1)
        return float((predicted == targets.to(self.device)).float().mean().item())
