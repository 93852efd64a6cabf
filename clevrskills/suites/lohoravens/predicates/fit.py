"""Fit: which of some places seen from above are members of a figure.

Plain geometry of arrays. Of some places (n, 2), those that are ``used`` (n,) may be members of a
figure; a figure always has ``n`` members in the end. Places are members of a figure together if the
others could be put down so that it is whole, those where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

OFF_LINE_M = 0.015
"""How far a middle may be from a line, circle or outline."""
SLACK = 1e-6
"""How much further, as numbers are not exact."""


@dataclass(frozen=True)
class Fit:
    """The best figure through some places.

    Attributes:
        members: Which of the places lie on it together, (n,) bool.
        whole: Whether it is complete and fits as it should.
        center: Its middle, (2,); of a circle.
        radius_m: Its radius; of a circle.
    """

    members: np.ndarray
    whole: bool
    center: np.ndarray
    radius_m: float = 0.0

    @property
    def count(self) -> int:
        """How many places lie on it."""
        return int(self.members.sum())
