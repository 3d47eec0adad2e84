"""Models that read text: token ids below 19, (N, T)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .case import Batch, Case, classify


def tokens(generator: torch.Generator) -> Batch:
    text = torch.randint(19, (3, 13), generator=generator)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


class RecurrentModel(nn.Module):
    """A language model over nn.LSTM, nn.GRU or nn.RNN."""

    def __init__(self, kind: type[nn.RNNBase], **options: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(19, 12)
        self.recurrent = kind(12, 16, num_layers=2, batch_first=True, dropout=0.1, **options)
        self.head = nn.Linear(options.get("proj_size", 16), 19)

    def forward(self, text: Tensor) -> Tensor:
        hidden, _ = self.recurrent(self.embedding(text))
        return self.head(hidden)


class PackedClassifier(nn.Module):
    """Reads sequences of unequal length in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(19, 12, padding_idx=0)
        self.recurrent = nn.GRU(12, 8, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, text: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(text), lengths.cpu(), batch_first=True, enforce_sorted=False)
        padded, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True)
        return self.head(padded.sum(1) / lengths.unsqueeze(1))


def sequences(generator: torch.Generator) -> Batch:
    lengths = torch.tensor([7, 3, 9, 5])
    text = torch.randint(1, 19, (4, 9), generator=generator)
    text[torch.arange(9) >= lengths.unsqueeze(1)] = 0
    return text, lengths, torch.randint(5, (4,), generator=generator)


class Attention(nn.Module):
    """Self-attention that is causal, with a cache of keys and values, or sees a padding mask."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, cache: dict[str, Tensor] | None = None, padding: Tensor | None = None) -> Tensor:
        query, key, value = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if padding is not None:
            scores = (query @ key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
            mixed = scores.masked_fill(padding[:, None, None, :], float("-inf")).softmax(-1) @ value
        elif cache is None:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            first = "key" not in cache
            cache["key"] = key if first else torch.cat([cache["key"], key], dim=2)
            cache["value"] = value if first else torch.cat([cache["value"], value], dim=2)
            mixed = F.scaled_dot_product_attention(query, cache["key"], cache["value"], is_causal=first)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.attention_norm = Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))
        self.mlp_norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, cache: dict[str, Tensor] | None = None, padding: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cache, padding)
        return x + self.mlp(self.mlp_norm(x))


class GPT(nn.Module):
    """The head shares the weight of the embedding. ``caches`` (one dict a block) makes it read only what is new."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(19, 16), nn.Embedding(32, 16)
        self.blocks = nn.ModuleList(Block(16, 2) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 19, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, text: Tensor, caches: list[dict[str, Tensor]] | None = None) -> Tensor:
        past = caches[0]["key"].shape[2] if caches is not None and caches[0] else 0
        x = self.embedding(text) + self.positions(torch.arange(past, past + text.shape[1], device=text.device))
        for number, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[number])
        return self.head(self.norm(x))


class BERT(nn.Module):
    """Predicts the tokens of a text with padding (token 0)."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(19, 16, padding_idx=0), nn.Parameter(torch.randn(9, 16))
        self.blocks = nn.ModuleList(Block(16, 4) for _ in range(2))
        self.head = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 19))

    def forward(self, text: Tensor) -> Tensor:
        x = self.embedding(text) + self.positions
        for block in self.blocks:
            x = block(x, padding=text == 0)
        return self.head(x)


def masked_text(generator: torch.Generator) -> Batch:
    text, _, _ = sequences(generator)
    hidden = torch.rand(text.shape, generator=generator) < 0.4
    return text.masked_fill(hidden & (text != 0), 18), text.masked_fill(~hidden | (text == 0), -100)


class Llama(nn.Module):
    """RMSNorm, rotary positions, grouped queries and a gated MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(19, 16), nn.Linear(16, 19, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(16) for _ in range(2))
        self.query, self.key_value = nn.Linear(16, 16, bias=False), nn.Linear(16, 8, bias=False)
        self.gate, self.up, self.down = nn.Linear(16, 32), nn.Linear(16, 32), nn.Linear(32, 16)

    def rotate(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        frequencies = 100.0 ** -(torch.arange(half, device=x.device) / half)
        angles = torch.arange(x.shape[-2], device=x.device)[:, None] * frequencies
        left, right = x.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=-1)

    def forward(self, text: Tensor) -> Tensor:
        x = self.embedding(text)
        y = self.norms[0](x)
        query = self.query(y).unflatten(-1, (4, 4)).transpose(1, 2)
        key, value = self.key_value(y).unflatten(-1, (2, 1, 4)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(
            self.rotate(query), self.rotate(key), value, is_causal=True, enable_gqa=True
        )
        x = x + attended.transpose(1, 2).flatten(2)
        y = self.norms[1](x)
        return self.head(x + self.down(F.silu(self.gate(y)) * self.up(y)))


CASES = {
    "lstm": Case(partial(RecurrentModel, nn.LSTM), tokens, classify),
    "lstm_projected": Case(partial(RecurrentModel, nn.LSTM, proj_size=8), tokens, classify),
    "gru": Case(partial(RecurrentModel, nn.GRU), tokens, classify),
    "rnn": Case(partial(RecurrentModel, nn.RNN), tokens, classify),
    "gru_packed": Case(PackedClassifier, sequences, classify),
    "gpt": Case(GPT, tokens, classify),
    "bert": Case(BERT, masked_text, classify),
    "llama": Case(Llama, tokens, classify),
}
