"""Losses that the small policies share: of the vacuum, and of telling where things are.

A policy that tells where things are acts by what it tells. In training it is told the truth at some
of the steps, so that it learns what to do before it has learned to see.
"""

import torch
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import masked_mean

VACUUM = 6
"""The entry of an action that turns the vacuum on or off."""
PLACES = 2
"""How many things a sub-task names at most: what is handled, and what it is handled towards."""
PLACE_SCALE_M = 0.02
"""The unit of errors of places, m."""
TOLD_PER_M = 5.0
"""What places are multiplied by, so that they count as much as other inputs."""


def vacuum_loss(said: Tensor, wanted: Tensor, mask: Tensor) -> Tensor:
    """Cross-entropy of the vacuum.

    Args:
        said: Actions (..., 7), the entry of the vacuum as the logit of its being on.
        wanted: Actions (..., 7) in [-1, 1].
        mask: Which of them count, (...).
    """
    on = (wanted[..., VACUUM:] > 0).float()
    logits = said[..., VACUUM:].float()
    decided = functional.binary_cross_entropy_with_logits(logits, on, reduction="none")
    return masked_mean(decided, mask)


def vacuum_decided(said: Tensor) -> Tensor:
    """The vacuum of actions (..., 7) whose entry of it is a logit: -1 or 1, (..., 1)."""
    return torch.where(said[..., VACUUM:] > 0, 1.0, -1.0)


def missed(error: Tensor, wanted: Tensor, steps: Tensor, scale: Tensor | float) -> Tensor:
    """Mean smooth error (..., k), in units of a scale, where what is wanted is known."""
    size = functional.smooth_l1_loss(
        error.float() / scale, torch.zeros_like(error, dtype=torch.float32), reduction="none"
    )
    return masked_mean(size, wanted.isfinite().all(-1) & steps)


def perhaps_told(believed: Tensor, told: Tensor, share: float, noise_m: float) -> Tensor:
    """What is believed (N, ...), or, at a share of the steps, about what is told, where it is
    known.
    """
    drawn = torch.rand(len(told), *[1] * (told.dim() - 1), device=told.device)
    noisy = told + noise_m * torch.randn_like(told)
    return torch.where((drawn < share) & told.isfinite(), noisy.nan_to_num(), believed)
