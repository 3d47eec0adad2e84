"""Models that read pictures: (N, 3, 16, 16)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .case import Batch, Case, classify


def images(generator: torch.Generator) -> Batch:
    return torch.randn(4, 3, 16, 16, generator=generator), torch.randint(5, (4,), generator=generator)


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, padding=1, groups=2, bias=False),
            nn.BatchNorm2d(out),
        )
        self.skip = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.skip(x))


def resnet() -> nn.Module:
    stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
    return nn.Sequential(stem, ResidualBlock(8, 8, 1), ResidualBlock(8, 16, 2), head)


class ViT(nn.Module):
    """Its blocks are those of torch.nn."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.class_token, self.positions = nn.Parameter(torch.zeros(1, 1, 16)), nn.Parameter(torch.randn(1, 17, 16))
        self.blocks = nn.Sequential(
            *(nn.TransformerEncoderLayer(16, 2, 32, 0.1, "gelu", batch_first=True, norm_first=True) for _ in range(2))
        )
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1) + self.positions
        return self.head(self.blocks(x)[:, 0])


class UNet(nn.Module):
    """Goes up by a transposed convolution and by interpolation."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.InstanceNorm2d(16), nn.SiLU())
        self.bottom = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(16, 16, 3, padding=2, dilation=2), nn.LeakyReLU())
        self.rise = nn.ConvTranspose2d(16, 16, 2, stride=2)
        self.widen = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.leave = nn.Conv2d(40, 1, 3, padding=1, padding_mode="reflect")

    def forward(self, x: Tensor) -> Tensor:
        high = self.enter(x)
        low = self.down(high)
        low = torch.cat([low, self.rise(self.bottom(low))], dim=1)
        return self.leave(torch.cat([high, self.widen(low)], dim=1))


def pictures(generator: torch.Generator) -> Batch:
    return torch.randn(2, 3, 16, 16, generator=generator), (torch.rand(2, 1, 16, 16, generator=generator) < 0.3).float()


def segment(model: nn.Module, batch: Batch) -> Tensor:
    return F.binary_cross_entropy_with_logits(model(batch[0]), batch[1])


CASES = {
    "resnet": Case(resnet, images, classify),
    "vit": Case(ViT, images, classify),
    "unet": Case(UNet, pictures, segment),
}
