"""Move: where to pick and where to place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """A pick and a place in the world: x and y in metres, turn of the gripper about the vertical in
    rad. What is picked turns by the difference of the turns.
    """

    pick: tuple[float, float, float]
    place: tuple[float, float, float]

    @classmethod
    def of(cls, values: Sequence[float]) -> Move:
        """Read six numbers: x, y, yaw of the pick, then of the place."""
        x, y, yaw, to_x, to_y, to_yaw = map(float, values)
        return cls((x, y, yaw), (to_x, to_y, to_yaw))
