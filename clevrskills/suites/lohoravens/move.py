"""Move: where to pick and where to place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Move:
    """A pick and a place in the world: x and y in metres, turn of the gripper about the vertical in
    rad. What is picked turns by the difference of the turns.
    """

    pick: tuple[float, float, float]  # where to pick
    place: tuple[float, float, float]  # where to place
    # slot of the block that is meant; -1: that is not known
    slot: int = field(default=-1, compare=False)
    # slot of the body on or in which it is to be; -1: the table, or not known
    onto: int = field(default=-1, compare=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> Move:
        """Read six numbers: x, y, yaw of the pick, then of the place."""
        x, y, yaw, to_x, to_y, to_yaw = map(float, values)
        return cls((x, y, yaw), (to_x, to_y, to_yaw))
