"""Batches: observations, prompts and windows of demonstrations as tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["masked_mean"]


class Movable:
    """Dataclass of tensors that can be moved to a device."""

    def to(self, device: torch.device | str) -> Self:
        """Return a copy on a device."""
        moved = {f.name: _to(getattr(self, f.name), device) for f in fields(self)}  # type: ignore[arg-type]
        return type(self)(**moved)


@dataclass(frozen=True)
class Observations(Movable):
    """Observations of T control steps of each of B episodes."""

    # by camera, (B, T, 3, S, S): uint8 as loaded, floating point in [0, 1] in ``loss`` and ``step``
    images: Mapping[str, Tensor]
    state: Tensor  # proprioception, (B, T, P), normalized in ``loss`` and ``step``
    # mask of steps that exist, (B, T) bool; the others repeat the first or the last one
    mask: Tensor


@dataclass(frozen=True)
class Prompts(Movable):
    """Prompts of B episodes: tokens of words and images."""

    # token indices, (B, L), padded at the end
    tokens: Tensor
    mask: Tensor  # (B, L) bool, False for padding
    images: Tensor  # the M images of all prompts, (M, 3, S, S), as in :class:`Observations`
    image_index: Tensor  # index of the image at each token, (B, L); -1: a word

    def first(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens, mask and image index of the first ``count`` tokens of each prompt."""
        return self.tokens[:, :count], self.mask[:, :count], self.image_index[:, :count]


@dataclass(frozen=True)
class Batch(Movable):
    """B windows of T control steps of demonstrations, with their actions."""

    observations: Observations
    prompts: Prompts
    actions: Tensor  # the next H actions of each step, (B, T, H, 7), normalized in ``loss``
    # mask of target actions, (B, T, H) bool: not those of failed attempts, nor those after the end
    # of a demonstration, which repeat the last one
    action_mask: Tensor


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of values (..., 7) under a mask (...); 0 if the mask is empty."""
    weights = mask.unsqueeze(-1).to(values.dtype)
    return (values * weights).sum() / (weights.sum() * values.shape[-1]).clamp(min=1.0)


def scale_images(images: Tensor, size_px: int) -> Tensor:
    """Return images (..., 3, H, W) uint8 scaled to (..., 3, size_px, size_px), on the CPU."""
    *lead, _, height, width = images.shape
    if (height, width) == (size_px, size_px) or not images.numel():
        return images.reshape(*lead, 3, size_px, size_px)
    flat = images.reshape(-1, 3, height, width)
    scaled = functional.interpolate(flat, size=size_px, mode="bilinear", antialias=True)
    return scaled.reshape(*lead, 3, size_px, size_px)


def _to(value: Any, device: torch.device | str) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {name: _to(entry, device) for name, entry in value.items()}
    return value.to(device)
