"""Layers shared by policies."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn


def mlp(*widths: int, activation: type[nn.Module] = nn.GELU) -> nn.Sequential:
    """Return linear layers from each width to the next one, with an activation between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers[:-1])


def convolutions(channels: Sequence[int]) -> tuple[nn.ModuleList, nn.ModuleList]:
    """Return 3 x 3 convolutions from each number of channels to the next one, the first two with
    stride 2, and their normalizations.
    """
    return (
        nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2 if k < 2 else 1, padding=1)
            for k, (before, after) in enumerate(pairwise(channels))
        ),
        nn.ModuleList(nn.GroupNorm(8, after) for after in channels[1:]),
    )


def transformer_layer(
    width: int, heads: int, feed_forward: int, dropout: float = 0.0
) -> dict[str, Any]:
    """Return the arguments of a transformer layer of torch."""
    return {
        "d_model": width,
        "nhead": heads,
        "dim_feedforward": feed_forward,
        "dropout": dropout,
        "activation": "gelu",
        "batch_first": True,
        "norm_first": True,
    }


def transformer_encoder(layer: dict[str, Any], count: int) -> nn.TransformerEncoder:
    """Return a transformer encoder with ``count`` layers."""
    one = nn.TransformerEncoderLayer(**layer)
    return nn.TransformerEncoder(one, count, enable_nested_tensor=False)


def pixel_places(images: Tensor) -> Tensor:
    """Return pixel coordinates (right, down) in [-1, 1] of images (..., H, W) as (2, H, W)."""
    down, right = (torch.linspace(-1, 1, n, device=images.device) for n in images.shape[-2:])
    return torch.stack(torch.meshgrid(right, down, indexing="xy")).to(images.dtype)


def with_places(images: Tensor) -> Tensor:
    """Return images (N, 3, H, W) in [0, 1] as (N, 5, H, W) in [-1, 1]: colors and coordinates."""
    return torch.cat([images * 2 - 1, pixel_places(images).expand(len(images), -1, -1, -1)], 1)


def spatial_softmax(activations: Tensor) -> Tensor:
    """Return mean position and mean activation of each feature map (N, K, H, W) as (N, 3 K)
    (spatial softmax, Finn et al. 2016, arXiv 1509.06113).
    """
    flat = activations.flatten(2)
    weights = flat.softmax(-1)
    places = weights @ pixel_places(activations.float()).flatten(1).T.to(weights.dtype)
    clear = (weights * flat).sum(-1, keepdim=True)
    return torch.cat([places, clear], -1).flatten(1)
