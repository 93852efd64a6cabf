"""Predicate: the gripper has touched an object and pushed it away."""

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.touched import Handled, put_free, tilt, touch_top
from clevrskills.sim.world import World

DIRECTIONS = 16
MARGIN_M = 0.02


@dataclass(frozen=True, eq=False)
class TouchedPushed(Handled):
    """The gripper has touched a body, which was never held or struck and did not fall over. It is
    at rest at least ``criteria.push_displacement_m`` from its initial position.

    The gripper itself must push. Motion caused by another body or by the arm behind the gripper
    does not count.

    Reward: exp(-5 distance of the cups in m), 0 to 1 for the distance and 0 to 1 for standing
    upright, up to 2.97 in all; done 3. It stays 0 once the body was held or struck.
    """

    name = "touched_pushed"
    goal_words = ("away", "first", "then", "after")
    max_reward = 3.0
    own_way = True

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        least, limit = self.criteria.push_displacement_m, self.criteria.topple_angle_rad
        moved = geometry.length((world.position(self.object) - state["start"][:, :3])[:, :2])
        tilted = tilt(state["start"][:, 3:], world.orientation(self.object))
        still = world.is_static(self.object)
        holds = state["touched"] & ~state["spoiled"] & still & (moved >= least) & (tilted < limit)
        if not world.rewards:
            return Outcome.without_rewards(holds, state)
        upright, way = 1.0 - (tilted / limit).clamp(max=1.0), (moved / least).clamp(max=1.0)
        return self.handled(world, holds, self.near(world) + upright + way, state)

    def describe(self, world: World, env: int = 0) -> str:
        return f"Touch and push {world.mention(env, self.object)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        angle = torch.arange(DIRECTIONS, device=world.device) * (2 * pi / DIRECTIONS)
        way = (self.criteria.push_displacement_m + MARGIN_M) * torch.stack(
            (angle.cos(), angle.sin()), dim=-1
        )
        poses = world.pose(self.object)[:, None].repeat(1, DIRECTIONS, 1)
        poses[..., :2] += way
        put_free(world, self.object, poses, where)
        touch_top(world, self.object, where)
