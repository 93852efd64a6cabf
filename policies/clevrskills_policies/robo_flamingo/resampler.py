"""Perceiver resampler of Flamingo."""

import torch
from torch import Tensor, nn

from clevrskills.baselines.policies.flamingo import HEAD_WIDTH, attend, feed_forward


class PerceiverResampler(nn.Module):
    """Perceiver resampler, which reduces the number of features of an image.

    Args:
        width: Width of a feature.
        latents: Number of output features.
        depth: Number of layers.
        heads: Number of attention heads.
    """

    def __init__(self, width: int, latents: int = 64, depth: int = 6, heads: int = 8) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, width))
        self.layers = nn.ModuleList(
            nn.ModuleList([_PerceiverAttention(width, heads), feed_forward(width)])
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, features: Tensor) -> Tensor:
        """Map features (N, K, width) -> features (N, latents, width)."""
        latents = self.latents.expand(len(features), -1, -1)
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleList)
            latents = latents + layer[0](features, latents)
            latents = latents + layer[1](latents)
        normed: Tensor = self.norm(latents)
        return normed


class _PerceiverAttention(nn.Module):
    """Attention of latents to features and to each other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_media = nn.LayerNorm(width)
        self.norm_latents = nn.LayerNorm(width)
        self.to_q = nn.Linear(width, heads * HEAD_WIDTH, bias=False)
        self.to_kv = nn.Linear(width, 2 * heads * HEAD_WIDTH, bias=False)
        self.to_out = nn.Linear(heads * HEAD_WIDTH, width, bias=False)

    def forward(self, features: Tensor, latents: Tensor) -> Tensor:
        latents = self.norm_latents(latents)
        context = torch.cat([self.norm_media(features), latents], 1)
        answer: Tensor = self.to_out(attend(self.to_q(latents), self.to_kv(context)))
        return answer
