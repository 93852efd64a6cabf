"""Predicate: an object was pushed to a position on the table."""

from dataclasses import dataclass

from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.pushed import Pushed
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class AtPositionPushed(Pushed):
    """A body was pushed to within ``criteria.pushed_position_m`` of a position. It was never held
    or struck, is not touched by the gripper, and is at rest on the table. Another body that the
    gripper pushes may push it.

    Reward: exp(-5 distance of the cups in m) + exp(-5 distance to the position in m) + exp(b - 1),
    up to 3. b is 1 if the gripper is behind the body, -1 if it is in front. At the position 3.9 to
    4, not touched 4.9 to 4.95, done 5. It stays 0 once the body was held or struck.
    """

    name = "at_position_pushed"
    position: Tensor  # world position of the body's origin, (B, 3)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        target = self.position[:, :2]
        aside = geometry.length(world.position(self.object)[:, :2] - target)
        return self.pushed(world, aside < self.criteria.pushed_position_m, target, 1.0, state)

    def describe(self, world: World, env: int = 0) -> str:
        x, y = (round(float(v), 3) for v in self.position[env, :2])
        return f"Push {world.mention(env, self.object)[0]} to ({x}, {y})"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, :2] = self.position[:, :2]
        world.set_body_pose(self.object, pose, where)
