"""An object was pushed towards another one."""

from dataclasses import dataclass

from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.pushed import Pushed
from clevrskills.sim.world import World

REALIZED_SHARE = 0.4
"""Share of the distance by which a body is moved to realize it; enough for all criteria."""


@dataclass(frozen=True, eq=False)
class PushedTowards(Pushed):
    """A body was pushed towards where another one was at first: ``criteria.push_gain`` of the way
    nearer to a target that lies ``criteria.push_target_share`` of the way; and the two are nearer
    to each other, so that it does not help to move the other.

    A body that has come 30 percent nearer was moved within asin(0.7) = 44.4 degrees of the way, so
    the cone of 45 degrees (paper) or 60 degrees (released code) needs no test.

    The gripper itself pushes it ("the agent is tasked to push"): what another body, or the
    arm behind the gripper, moves it by does not count, the way begins where that leaves it.

    Reward: as of :class:`AtPositionPushed`, the place being the target.

    Args:
        towards: Index of the other body, (B,).
    """

    name = "pushed_towards"
    goal_words = (
        *("towards", "to", "closer", "nearer", "in", "direction", "away", "on", "first", "then"),
    )
    own_way = True
    towards: Tensor

    def initial_state(self, world: World) -> GoalState:
        state = super().initial_state(world)
        return {**state, "goal": world.position(self.towards)[:, :2].clone()}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        start, goal = state["start"][:, :2], state["goal"]
        place, other = (world.position(b)[:, :2] for b in (self.object, self.towards))
        gain = self.criteria.push_gain * self.criteria.push_target_share
        nearer = geometry.length(other - place) <= geometry.length(goal - start) * (1.0 - gain)
        arrived = self.reached(place, start, goal) & nearer
        target = self._target(start, goal)
        return self.pushed(world, arrived, target, self.criteria.push_gain, state)

    def _target(self, start: Tensor, goal: Tensor) -> Tensor:
        return start + self.criteria.push_target_share * (goal - start)

    def reached(self, place: Tensor, start: Tensor, goal: Tensor) -> Tensor:
        """Return whether a place is far enough towards another body, (...,).

        Args:
            place: Where the body is now, (..., 2).
            start: Where it was at first, (..., 2).
            goal: Where the other one was at first, (..., 2).
        """
        target = self._target(start, goal)
        left, way = geometry.length(target - place), geometry.length(target - start)
        return left <= (1.0 - self.criteria.push_gain) * way

    def describe(self, world: World, env: int = 0) -> str:
        one, other = world.mention(env, self.object, self.towards)
        return f"Push {one} towards {other}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, :2] += REALIZED_SHARE * (world.position(self.towards) - pose[:, :3])[:, :2]
        world.set_body_pose(self.object, pose, where)
