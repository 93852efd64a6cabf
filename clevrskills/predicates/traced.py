"""Predicate: the end effector is at a goal in the air."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import closeness
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Traced(PhysicalPredicate):
    """The tool center point is within ``criteria.end_effector_m`` of the center of a body, usually
    one without collisions, in any orientation.

    Reward: max(0, 2 - distance in m), done 6.
    """

    name = "traced"
    goal_words = ("green", "red", "yellow", "balls")
    max_reward = 6.0
    object: Tensor  # index of the body, (B,)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        distance = geometry.length(world.end_effector_pose[:, :3] - world.position(self.object))
        holds = distance < self.criteria.end_effector_m
        if not world.rewards:
            return Outcome.without_rewards(holds)
        return self.outcome(holds, (2.0 - distance).clamp(min=0.0), closeness(distance))

    def describe(self, world: World, env: int = 0) -> str:
        return f"Move to {world.mention(env, self.object)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = (world.position(self.object), world.end_effector_pose[:, 3:])
        world.set_end_effector_pose(torch.cat(pose, dim=-1), where)
