"""States and actions on a common scale."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

LEAST_STD = 0.05
"""Entries that vary less are not stretched further: an action of 0.05 moves by 5 mm or 0.3°, and of
what demonstrations hardly ever do, the few times that they do it would else be most of the loss."""


class Normalizer(nn.Module):
    """Shifts and scales numbers so that over the training data each entry has mean 0 and standard
    deviation 1; entries that hardly vary are scaled less.

    Its numbers are no part of a checkpoint's weights: they are in the statistics of its
    specification.

    Args:
        statistics: ``mean`` and ``std``, one number for each entry.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, statistics: Mapping[str, list[float]]) -> None:
        super().__init__()
        for name in ("mean", "std"):
            values = torch.tensor(statistics[name], dtype=torch.float32)
            self.register_buffer(name, values, persistent=False)
        self.std.clamp_(min=LEAST_STD)

    def forward(self, values: Tensor) -> Tensor:
        """Measured numbers (..., k) -> normalised ones."""
        return (values - self.mean) / self.std

    def inverse(self, values: Tensor) -> Tensor:
        """Normalised numbers (..., k) -> as measured."""
        return values * self.std + self.mean
