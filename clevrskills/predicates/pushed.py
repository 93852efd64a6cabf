"""Base of predicates about pushed objects."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.shaping import closeness, descent
from clevrskills.predicates.touched import Handled
from clevrskills.sim.world import World

SLACK_M = 0.01
"""Distance of the gripper behind a body that counts as contact for progress."""
BACKWARDS = -0.25
"""Bound of the negative progress of a push in the wrong direction. If bad pushes lost as much as
good ones gain, policies would learn not to push."""


@dataclass(frozen=True, eq=False)
class Pushed(Handled):
    """A pushed body was never held or struck, is not touched by the gripper, and is at rest on the
    table.
    """

    max_reward = 5.0

    def pushed(
        self, world: World, arrived: Tensor, target: Tensor, share: float, state: GoalState
    ) -> Outcome:
        """Return the outcome.

        Args:
            world: The world.
            arrived: Whether the body is at its target, (B,).
            target: The target of the push, (B, 2).
            share: Share of the way that is sufficient.
            state: The next goal state.
        """
        away, still = ~state["touching"], world.is_static(self.object)
        holds = arrived & away & still & world.on_table(self.object) & ~state["spoiled"]
        if not world.rewards:
            return Outcome.without_rewards(holds, state)
        place = world.position(self.object)[:, :2]
        behind = torch.nn.functional.cosine_similarity(
            world.end_effector_pose[:, :2] - place, place - target, dim=-1
        )
        aside = geometry.length(place - target)
        distance = self.distance(world)
        shaping = torch.exp(-5.0 * distance) + torch.exp(-5.0 * aside) + torch.exp(behind - 1.0)
        way = geometry.length(state["start"][:, :2] - target)
        gone = ((way - aside) / (share * way).clamp(min=1e-3)).clamp(BACKWARDS, 1.0)
        progress = 0.4 * closeness(4.0 * self._way_behind(world, target)) + 0.35 * gone
        if any_true(arrived):
            let_go = torch.exp((100.0 * (distance - 1e-3)).clamp(max=0.0))
            shaping = torch.where(arrived, 3.0 + away + let_go, shaping)
            progress = torch.where(arrived, 0.8 + 0.1 * away, progress)
        return self.handled(world, holds, shaping, state, progress)

    def _way_behind(self, world: World, target: Tensor) -> Tensor:
        """Return the distance in meters from the gripper to the side of the body away from a target
        (B, 2).
        """
        place = world.position(self.object)
        ahead = torch.nn.functional.normalize(target - place[:, :2], dim=-1)
        half = world.at(world.solids.size, self.object)[:, :2].amax(-1, keepdim=True) / 2
        contact = -half - world.cup_reach_m
        offset = world.end_effector_pose[:, :3] - place
        along = (offset[:, :2] * ahead).sum(-1, keepdim=True)
        aside = offset[:, :2] - along.clamp(contact - SLACK_M, contact + SLACK_M) * ahead
        return descent(torch.cat((aside, offset[:, 2:]), dim=-1))
