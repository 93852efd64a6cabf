"""Move: where to pick and where to place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Move:
    """A pick and a place in the world.

    Each has x and y in meters, and the angle of the gripper about the vertical in rad. The block
    turns by the difference of the angles.
    """

    pick: tuple[float, float, float]
    place: tuple[float, float, float]
    slot: int = field(default=-1, compare=False)  # slot of the block, -1 if unknown
    # slot of the body to put it on or in; -1 for the table, or if unknown
    onto: int = field(default=-1, compare=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> Move:
        """Return the move of six numbers: x, y and angle of the pick, then of the place."""
        x, y, yaw, to_x, to_y, to_yaw = map(float, values)
        return cls((x, y, yaw), (to_x, to_y, to_yaw))
