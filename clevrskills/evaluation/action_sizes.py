"""Statistics of numeric actions: how often they are out of range, and the largest values."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ActionSizes:
    """Statistics of the actions taken."""

    def __init__(self) -> None:
        self._taken = self._clipped = 0
        self._greatest = np.zeros(0)

    def add(self, numbers: NDArray[Any], clipped: bool) -> None:
        """Count an unclipped action (n,), and whether an entry was out of range."""
        size = np.abs(numbers)
        self._greatest = np.maximum(self._greatest, size) if self._taken else size
        self._taken, self._clipped = self._taken + 1, self._clipped + bool(clipped)

    @property
    def clipped(self) -> float:
        """Fraction of actions with an entry out of range."""
        return round(self._clipped / max(self._taken, 1), 6)

    def greatest(self, labels: Iterable[str]) -> dict[str, float]:
        """Return the largest absolute value of each entry, by label or index."""
        pairs = zip([*labels] or map(str, count()), self._greatest, strict=False)
        return {name: round(float(value), 6) for name, value in pairs}
