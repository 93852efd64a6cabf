"""Predicate: the end effector is at a pose (ClevrSkills paper, appendix A.1, task 1)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.predicates.end_effector_at_position import EndEffectorAtPosition
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class EndEffectorAtPose(EndEffectorAtPosition):
    """The combined error of the end effector's pose is below ``criteria.end_effector_pose``.

    The error is the distance of the tool center point in meters plus the smaller norm of the
    difference of the quaternions, which is half the angle in radians for small angles.

    Reward: max(0, 2 - error), done 2.
    """

    name = "end_effector_at_pose"
    orientation: Tensor  # world orientation, (B, 4)

    @property
    def tolerance(self) -> float:
        return self.criteria.end_effector_pose

    def pose(self, world: World) -> Tensor:
        return torch.cat((self.position, self.orientation), dim=-1)

    def error(self, world: World) -> Tensor:
        now = world.end_effector_pose[:, 3:]
        signs = (now - self.orientation, now + self.orientation)
        return super().error(world) + torch.minimum(*(geometry.length(sign) for sign in signs))

    def describe(self, world: World, env: int = 0) -> str:
        axis = geometry.rotation_matrix(self.orientation[env])[:, 2]
        aim = ", ".join(f"{float(v):.2f}" for v in axis)
        return f"{super().describe(world, env)}, pointing along ({aim})"
