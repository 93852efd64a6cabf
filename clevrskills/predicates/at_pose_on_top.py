"""Predicate: an object rests on another one at a world pose."""

from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates.at_pose import AtPose
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class AtPoseOnTop(AtPose):
    """Pose as in :class:`AtPose`, but on another body instead of the table.

    Reward: as for :class:`AtPose`.
    """

    name = "at_pose_on_top"
    bottom: Tensor  # index of the body below, (B,)

    def resting(self, world: World) -> Tensor:
        return world.carries(self.bottom, self.object, self.criteria.support_share)

    def describe(self, world: World, env: int = 0) -> str:
        return f"{super().describe(world, env)} on {world.mention(env, self.bottom)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, :2], pose[:, 3:] = self.position[:, :2], self.orientation
        pose[:, 2] = world.rest(self.object, pose[:, None], self.bottom)[0][:, 0]
        world.set_body_pose(self.object, pose, where)
