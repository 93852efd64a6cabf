"""What pushed objects have in common: never held or struck, let alone, at rest."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills import geometry
from clevrskills.predicates.base import GoalState, Outcome
from clevrskills.predicates.touched import Handled
from clevrskills.world import World, anywhere


@dataclass(frozen=True, eq=False)
class Pushed(Handled):
    """A body was pushed: it was never held or struck, the gripper does not touch it, it is at rest
    on the table.
    """

    max_reward = 5.0

    def pushed(self, world: World, there: Tensor, target: Tensor, state: GoalState) -> Outcome:
        """Build the outcome.

        Args:
            world: Where everything is.
            there: Whether the body is where it should be, (B,).
            target: Where it should be pushed to, (B, 2).
            state: What is remembered.
        """
        state = self.remember(world, state)
        away = ~world.gripper_touches(self.object)
        still = world.is_static(self.object) & world.on_table(self.object)
        place = world.position(self.object)[:, :2]
        behind = torch.nn.functional.cosine_similarity(
            world.end_effector_pose[:, :2] - place, place - target, dim=-1
        )
        aside = geometry.length(place - target)
        shaping = self.near(world) + torch.exp(-5.0 * aside) + torch.exp(behind - 1.0)
        if anywhere(there):
            distance = world.gripper_distance(self.object).clamp(min=0.0)
            let_go = torch.exp((100.0 * (distance - 1e-3)).clamp(max=0.0))
            shaping = torch.where(there, 3.0 + away + let_go, shaping)
        return self.handled(there & away & still, shaping, state)
