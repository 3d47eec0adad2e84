"""Models over points, graphs, bags and signals."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .case import Batch, Case, classify


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.LayerNorm(32), nn.Dropout(0.2), nn.Linear(32, 24), nn.GELU(), nn.Linear(24, 5)
    )


def points(generator: torch.Generator) -> Batch:
    return torch.randn(16, 10, generator=generator), torch.randint(5, (16,), generator=generator)


class GraphNet(nn.Module):
    """Nodes take the sum, the maximum and the mean of what their neighbours send."""

    def __init__(self) -> None:
        super().__init__()
        self.sends = nn.ModuleList([nn.Linear(20, 16), nn.Linear(32, 16)])
        self.updates = nn.ModuleList([nn.Linear(58, 16), nn.Linear(64, 16)])
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        for send, update in zip(self.sends, self.updates, strict=True):
            message = F.relu(send(torch.cat([x[source], x.index_select(0, target)], dim=1)))
            empty = message.new_zeros(len(x), message.shape[1])
            index = target[:, None].expand_as(message)
            total = empty.index_add(0, target, message)
            largest = empty.scatter_reduce(0, index, message, "amax", include_self=False)
            mean = empty.scatter_reduce(0, index, message, "mean", include_self=False)
            x = F.elu(update(torch.cat([x, total, largest, mean], dim=1)))
        return self.head(x)


def graph(generator: torch.Generator) -> Batch:
    return (
        torch.randn(12, 10, generator=generator),
        torch.randint(12, (2, 40), generator=generator),
        torch.randint(5, (12,), generator=generator),
    )


class MixtureOfExperts(nn.Module):
    """Bags of tokens, each read by its two best experts."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(19, 16, mode="mean")
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(16, 24), nn.SiLU(), nn.Linear(24, 16)) for _ in range(4))
        self.head = nn.Linear(16, 5)

    def forward(self, text: Tensor, offsets: Tensor) -> Tensor:
        x = self.bag(text, offsets)
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        mixed = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, rank = torch.where(chosen == number)
            mixed = mixed.index_add(0, rows, expert(x[rows]) * weights[rows, rank].unsqueeze(1))
        return self.head(x + mixed)


def bags(generator: torch.Generator) -> Batch:
    return (
        torch.randint(19, (30,), generator=generator),
        torch.tensor([0, 3, 3, 9, 15, 22]),
        torch.randint(5, (6,), generator=generator),
    )


class VAE(nn.Module):
    """Draws random numbers in its forward, on the device it runs on."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2, padding=2), nn.Softplus(), nn.Flatten())
        self.mean, self.spread = nn.Linear(80, 6), nn.Linear(80, 6)
        self.decoder = nn.Sequential(
            nn.Linear(6, 80), nn.Tanh(), nn.Unflatten(1, (8, 10)), nn.ConvTranspose1d(8, 1, 2, 2)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.spread(hidden)
        drawn = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(drawn), mean, log_variance


def signals(generator: torch.Generator) -> Batch:
    return (torch.randn(5, 1, 20, generator=generator).cumsum(2),)


def evidence(model: nn.Module, batch: Batch) -> Tensor:
    rebuilt, mean, log_variance = model(batch[0])
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean()
    return (
        F.mse_loss(rebuilt, batch[0]) + 0.01 * divergence + F.smooth_l1_loss(rebuilt.diff(dim=2), batch[0].diff(dim=2))
    )


CASES = {
    "mlp": Case(mlp, points, classify),
    "graph": Case(GraphNet, graph, classify),
    "experts": Case(MixtureOfExperts, bags, classify),
    "vae": Case(VAE, signals, evidence),
}
