"""Losses that the small policies share: of the vacuum, and of predicted positions.

A policy that predicts positions acts by its predictions. In training it is given the ground truth
at some of the steps (scheduled sampling), so that control is learned before perception is.
"""

import torch
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Batch, masked_mean
from clevrskills.baselines.policy import Normalizer

VACUUM = 6
"""The entry of an action that turns the vacuum on or off."""
PLACES = 2
"""Number of objects of a subtask: the one that is handled, and its target."""
PLACE_SCALE_M = 0.02
"""The unit of errors of places, m."""
TOLD_PER_M = 5.0
"""Factor of places, so that they count as much as other inputs."""


def action_losses(predicted: Tensor, batch: Batch, normalize: Normalizer) -> tuple[Tensor, Tensor]:
    """Return the mean squared error of the motion, and cross-entropy of the vacuum.

    Args:
        predicted: Actions (B, T, H, 7), normalized, the vacuum as the logit of its being on.
        batch: What was done.
        normalize: Normalizes actions.
    """
    motion = (predicted[..., :VACUUM] - batch.actions[..., :VACUUM]) ** 2
    on = (normalize.inverse(batch.actions)[..., VACUUM:] > 0).float()
    logits = predicted[..., VACUUM:].float()
    decided = functional.binary_cross_entropy_with_logits(logits, on, reduction="none")
    return masked_mean(motion, batch.action_mask), masked_mean(decided, batch.action_mask)


def decide_vacuum(predicted: Tensor, normalize: Normalizer) -> Tensor:
    """Return normalized actions (..., 7), the vacuum on or off, of such whose vacuum is a logit."""
    on = torch.where(predicted[..., VACUUM:] > 0, 1.0, -1.0)
    vacuum = normalize(on.expand(predicted.shape))[..., VACUUM:]
    return torch.cat([predicted[..., :VACUUM], vacuum], -1)


def place_loss(predicted: Tensor, places: Tensor, steps: Tensor) -> Tensor:
    """Return the mean error of predicted positions (..., 2, 3), in units of 2 cm, where they are
    known at steps that exist (..., 1).
    """
    return missed(predicted - places.nan_to_num(), places, steps, PLACE_SCALE_M)


def missed(error: Tensor, wanted: Tensor, steps: Tensor, scale: Tensor | float) -> Tensor:
    """Return the mean smooth error (..., k), in units of a scale, where what is wanted is known."""
    size = functional.smooth_l1_loss(
        error.float() / scale, torch.zeros_like(error, dtype=torch.float32), reduction="none"
    )
    return masked_mean(size, wanted.isfinite().all(-1) & steps)


def scheduled_sample(believed: Tensor, true: Tensor | None, share: float, noise_m: float) -> Tensor:
    """Return predictions (N, ...), or, at a share of the steps, noisy ground truth where known;
    ``None``: it is not.
    """
    if true is None:
        return believed
    drawn = torch.rand(len(true), *[1] * (true.dim() - 1), device=true.device)
    noisy = true + noise_m * torch.randn_like(true)
    return torch.where((drawn < share) & true.isfinite(), noisy.nan_to_num(), believed)
