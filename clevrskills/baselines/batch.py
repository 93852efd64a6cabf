"""Batches: observations, prompts and windows of demonstrations as tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["masked_mean"]


class Movable:
    """A dataclass of tensors that can be moved to a device."""

    def to(self, device: torch.device | str) -> Self:
        """Return the same on a device."""
        moved = {f.name: _to(getattr(self, f.name), device) for f in fields(self)}  # type: ignore[arg-type]
        return type(self)(**moved)


@dataclass(frozen=True)
class Observations(Movable):
    """Images and robot states of T control steps of each of B episodes."""

    # by camera, (B, T, 3, S, S): uint8 in [0, 255] as loaded; a policy's ``loss`` and ``step`` get
    # floating point numbers in [0, 1]
    images: Mapping[str, Tensor]
    state: Tensor  # the robot's own state, (B, T, P); in ``loss`` and ``step`` it is normalized
    # which of the steps exist, (B, T) bool; the others repeat the first or the last one
    mask: Tensor


@dataclass(frozen=True)
class Prompts(Movable):
    """The prompts of B episodes: words, and places where an image stands."""

    # numbers of the tokenizer, (B, L); prompts that are shorter are padded at the end
    tokens: Tensor
    mask: Tensor  # which of the tokens exist, (B, L) bool
    images: Tensor  # the M images of all prompts, (M, 3, S, S), as in :class:`Observations`
    image_index: Tensor  # which of the images stands at each place, (B, L); -1: none but a word

    def first(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens, mask and image index of the first tokens of each prompt."""
        return self.tokens[:, :count], self.mask[:, :count], self.image_index[:, :count]


@dataclass(frozen=True)
class Batch(Movable):
    """Windows of T steps of B demonstrations, and what was done there."""

    observations: Observations  # the observations
    prompts: Prompts  # the prompts
    # at every step the next H actions, (B, T, H, 7); in ``loss`` they are normalized
    actions: Tensor
    # which of them are to be learned, (B, T, H) bool: not those after the end of the demonstration,
    # which repeat the last one, nor those of attempts that were given up
    action_mask: Tensor


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the values (..., 7) where a mask (...) is set; 0 if it is set nowhere."""
    weights = mask.unsqueeze(-1).to(values.dtype)
    return (values * weights).sum() / (weights.sum() * values.shape[-1]).clamp(min=1.0)


def scale_images(images: Tensor, size_px: int) -> Tensor:
    """Return images (..., 3, H, W) uint8 in another size, (..., 3, size_px, size_px) uint8.

    Training and acting scale with this one function, on the CPU, so that they see the same.
    """
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
