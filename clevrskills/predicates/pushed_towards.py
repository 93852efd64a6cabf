"""Predicate: an object was pushed towards another one."""

from dataclasses import dataclass

from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.pushed import Pushed
from clevrskills.sim.world import World

REALIZED_SHARE = 0.4
"""Share of the distance that a body is moved by to realize the predicate; enough for all criteria.
"""


@dataclass(frozen=True, eq=False)
class PushedTowards(Pushed):
    """A body was pushed towards the initial position of another one: by ``criteria.push_gain`` of
    the distance to a target at ``criteria.push_target_share`` of the way. The two are also nearer
    to each other, so that moving the other body does not help.

    A body that came 30 percent nearer moved within asin(0.7) = 44.4 degrees of the way, so the cone
    of 45 degrees (paper) or 60 degrees (released code) needs no test.

    The gripper itself must push. Motion caused by another body or by the arm behind the gripper
    does not count; the way starts where that motion ends.

    Reward: as for :class:`AtPositionPushed` with the target as the position.
    """

    name = "pushed_towards"
    goal_words = (
        *("towards", "to", "closer", "nearer", "in", "direction", "away", "on", "first", "then"),
    )
    own_way = True
    towards: Tensor  # index of the other body, (B,)

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
        """Return whether a body is pushed far enough, (...,).

        Args:
            place: Its current position, (..., 2).
            start: Its initial position, (..., 2).
            goal: Initial position of the other body, (..., 2).
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
