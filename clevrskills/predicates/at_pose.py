"""Predicate: an object stands at a position on the table in an orientation."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState
from clevrskills.predicates.at_position import AtPosition
from clevrskills.predicates.shaping import NEAR_M, carry
from clevrskills.sim.world import World

M_PER_RAD = 0.1
"""Distance that a rotation of one radian counts as."""


@dataclass(frozen=True, eq=False)
class AtPose(AtPosition):
    """Position as in :class:`AtPosition`, with an orientation within ``criteria.angle_rad``.

    Reward: as for :class:`AtPosition`. While the body is held at least 0.03 m beside the position
    or 9 degrees off the orientation, 2 to 4: half for height, half for distance and angle.
    """

    name = "at_pose"
    orientation: Tensor  # world orientation, (B, 4)

    def angle(self, world: World, state: GoalState) -> Tensor:
        """Return the remaining rotation in radians, in [0, pi], (B,)."""
        del state
        return geometry.rotation_angle(world.orientation(self.object), self.orientation)

    def placed(self, world: World, state: GoalState) -> Tensor:
        placed = super().placed(world, state)
        if not any_true(placed):
            return placed
        return placed & (self.angle(world, state) < self.criteria.angle_rad)

    def located(self, world: World, state: GoalState) -> Tensor:
        return super().placed(world, state)

    def way(self, world: World, state: GoalState) -> Tensor:
        return super().way(world, state) + M_PER_RAD * self.angle(world, state)

    def carrying(self, world: World, state: GoalState) -> Tensor:
        offset = world.position(self.object) - self.position
        aside, turned = geometry.length(offset[:, :2]), self.angle(world, state) / torch.pi
        near = (aside < NEAR_M) & (turned < 0.05)
        xy = torch.exp(-(aside - NEAR_M).clamp(min=0.0))
        lifted = torch.exp(-(6.0 * (0.15 - offset[:, 2])).clamp(min=0.0))
        away = 2.0 + lifted + (xy + 1.0 - turned) / 2
        return torch.where(near, carry(world, self.object, self.position), away)

    def describe(self, world: World, env: int = 0) -> str:
        matrix = geometry.rotation_matrix(self.orientation[env])
        yaw_deg = round(float(torch.rad2deg(torch.atan2(matrix[1, 0], matrix[0, 0]))))
        return f"{super().describe(world, env)} turned to {yaw_deg} degrees"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, 3:] = self.orientation
        world.set_body_pose(self.object, pose, where)
        super().realize(world, where)
