"""Action losses shared by policies."""

import torch
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Batch, masked_mean
from clevrskills.baselines.policy import Normalizer

VACUUM = 6
"""Entry of an action that turns the vacuum on or off."""


def action_losses(predicted: Tensor, batch: Batch, normalize: Normalizer) -> tuple[Tensor, Tensor]:
    """Return the mean squared error of the motion and the cross-entropy of the vacuum.

    Args:
        predicted: Normalized actions (B, T, H, 7), with the logit of the vacuum as last entry.
        batch: Batch with the demonstrated actions.
        normalize: Normalizer of actions.
    """
    motion = (predicted[..., :VACUUM] - batch.actions[..., :VACUUM]) ** 2
    on = (normalize.inverse(batch.actions)[..., VACUUM:] > 0).float()
    logits = predicted[..., VACUUM:].float()
    vacuum = functional.binary_cross_entropy_with_logits(logits, on, reduction="none")
    return masked_mean(motion, batch.action_mask), masked_mean(vacuum, batch.action_mask)


def decide_vacuum(predicted: Tensor, normalize: Normalizer) -> Tensor:
    """Return normalized actions (..., 7) with the vacuum on or off, from actions with its logit."""
    on = torch.where(predicted[..., VACUUM:] > 0, 1.0, -1.0)
    vacuum = normalize(on.expand(predicted.shape))[..., VACUUM:]
    return torch.cat([predicted[..., :VACUUM], vacuum], -1)
