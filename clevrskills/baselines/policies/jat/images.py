"""Pictures as JAT sees them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

_CHANNELS = 4  # that JAT sees: four grey frames of a game
_SQUEEZE = 8  # fewer numbers between the two layers that weight the channels


class ImageEncoder(nn.Module):
    """Pictures as one token each: blocks of convolution, instance normalisation and attention to
    channels, then one linear map.

    Args:
        size_px: Width and height of the pictures.
        channels: Channels after each block.
        width: Numbers in a token.
    """

    def __init__(self, size_px: int, channels: Sequence[int], width: int) -> None:
        super().__init__()
        before = (_CHANNELS, *channels[:-1])
        self.blocks = nn.ModuleList(Block(*both) for both in zip(before, channels, strict=True))
        side = size_px
        for _ in channels:
            side = -(-side // 2)
        self.out = nn.Linear(channels[-1] * side**2, width)

    def forward(self, images: Tensor) -> Tensor:
        """Pictures (N, 3, S, S) in [0, 1] -> tokens (N, width)."""
        features = functional.pad(images * 2 - 1, (0, 0, 0, 0, 0, _CHANNELS - 3))
        for block in self.blocks:
            features = block(features)
        token: Tensor = self.out(features.flatten(1))
        return token


class Block(nn.Module):
    """Half the width and height, and channels weighted by what the whole picture has of them.

    Args:
        before: Channels that come in.
        channels: Channels that go out.
    """

    def __init__(self, before: int, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(before, channels, 3, stride=2, padding=1)
        self.norm = nn.InstanceNorm2d(channels)
        self.attention = nn.Sequential(
            nn.Linear(channels, channels // _SQUEEZE, bias=False),
            nn.ReLU(),
            nn.Linear(channels // _SQUEEZE, channels, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Features (N, before, S, S) -> (N, channels, S / 2, S / 2)."""
        features = functional.leaky_relu(self.norm(self.convolution(features)))
        weights: Tensor = self.attention(features.mean((2, 3)))
        return features * weights[..., None, None]
