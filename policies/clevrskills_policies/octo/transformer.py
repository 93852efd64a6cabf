"""Image stem and transformer of Octo."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills_policies.octo.config import OctoConfig

_EPSILON = 1e-6  # of normalizations


class Stem(nn.Module):
    """Convolutional stem: one feature for each patch of 16 x 16 pixels.

    Args:
        before: Number of channels of images.
        channels: Number of channels at 1/2, 1/4, ... of the image size.
        groups: Number of groups of the group normalization.
        features: Width of a feature.
    """

    def __init__(self, before: int, channels: Sequence[int], groups: int, features: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for one, other in zip((before, *channels), channels, strict=False):
            layers += [StandardizedConv2d(one, other, 3, stride=2, padding=1)]
            layers += [nn.GroupNorm(groups, other, eps=_EPSILON), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.last = nn.Conv2d(channels[-1], features, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, before, S, S) in [0, 1] -> features (N, (S / 16)², features)."""
        found: Tensor = self.last(self.layers(images * 2 - 1))
        return found.flatten(2).transpose(1, 2)


class StandardizedConv2d(nn.Conv2d):
    """Convolution with weights of mean 0 and standard deviation 1 in each output channel."""

    def forward(self, features: Tensor) -> Tensor:
        """Map features (N, C, S, S) -> (N, C', S', S')."""
        std, mean = torch.std_mean(self.weight, (1, 2, 3), correction=0, keepdim=True)
        weight = (self.weight - mean) / (std + 1e-5)
        return self._conv_forward(features, weight, self.bias)


class Transformer(nn.Module):
    """Pre-norm transformer."""

    def __init__(self, config: OctoConfig) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(TransformerBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, eps=_EPSILON)

    def forward(self, tokens: Tensor, visible: Tensor) -> Tensor:
        """Map tokens (B, N, width) and a mask (B, N, N) bool -> tokens (B, N, width)."""
        for block in self.blocks:
            tokens = block(tokens, visible[:, None])
        after: Tensor = self.norm(tokens)
        return after


class TransformerBlock(nn.Module):
    """Transformer layer with one attention mask for all heads. The layers of torch copy it for each
    head, which takes gigabytes for a thousand tokens.
    """

    def __init__(self, config: OctoConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=_EPSILON) for _ in range(2))
        self.attention = nn.Linear(width, 3 * width)  # queries, keys and values
        self.mixing = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, tokens: Tensor, visible: Tensor) -> Tensor:
        """Map tokens (B, N, width) and a mask (B, 1, N, N) bool -> tokens (B, N, width)."""
        parts = self.attention(self.norms[0](tokens)).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # (B, heads, N, width / heads)
        attended = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=visible)
        tokens = tokens + self.mixing(attended.transpose(1, 2).flatten(2))
        after: Tensor = tokens + self.feed_forward(self.norms[1](tokens))
        return after


def visible(exists: Tensor, when: Tensor, reads: Tensor) -> Tensor:
    """Return the attention mask: tokens attend to those of their own step and of earlier ones; only
    readouts attend to readouts.

    Args:
        exists: Mask of the tokens that exist, (B, N) bool.
        when: Step of each token, (N,); -1: the task.
        reads: Mask of the readouts, (N,) bool.

    Returns:
        The mask (B, N, N) bool, with queries along the second dimension and keys along the third.
    """
    allowed = (when <= when[:, None]) & (~reads | reads[:, None])
    return allowed & exists[:, None]
