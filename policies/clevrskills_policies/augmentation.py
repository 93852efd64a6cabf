"""Random image augmentation in training."""

import torch
from torch import Tensor
from torch.nn import functional


def shift(images: Tensor, most_px: int) -> Tensor:
    """Return images (B, T, 3, S, S) shifted at random by up to ``most_px`` pixels in each axis,
    with edge pixels repeated (as by Yarats et al. 2021, arXiv 2107.09645). All images of an episode
    have the same shift.
    """
    if most_px < 1:
        return images
    batch, _, _, height, width = images.shape
    offsets = torch.randint(2 * most_px + 1, (batch, 2), device=images.device).tolist()
    wide = functional.pad(images.flatten(0, 1), [most_px] * 4, mode="replicate")
    wide = wide.unflatten(0, images.shape[:2])
    rows = [
        one[..., y : y + height, x : x + width] for one, (y, x) in zip(wide, offsets, strict=True)
    ]
    return torch.stack(rows)


def change_colors(images: Tensor, most: float = 0.1) -> Tensor:
    """Return images (B, T, 3, S, S) in [0, 1] with brightness, contrast and saturation changed at
    random by up to a share ``most``. All images of an episode are changed alike.
    """
    shape = (3, len(images), 1, 1, 1, 1)
    brightness, contrast, saturation = (torch.rand(shape, device=images.device) * 2 - 1) * most
    images = images + brightness
    images = images + contrast * (images - images.mean((-3, -2, -1), keepdim=True))
    images = images + saturation * (images - images.mean(-3, keepdim=True))
    return images.clamp(0, 1)
