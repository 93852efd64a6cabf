"""Predicate: the end effector is at a position."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import closeness
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class EndEffectorAtPosition(PhysicalPredicate):
    """The tool center point is within ``criteria.end_effector_m`` of a position, in any
    orientation.

    Reward: max(0, 2 - distance in m), done 2.
    """

    name = "end_effector_at_position"
    max_reward = 2.0
    position: Tensor  # world position, (B, 3)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        error = self.error(world)
        holds = error < self.tolerance
        if not world.rewards:
            return Outcome.without_rewards(holds)
        return self.outcome(holds, (2.0 - error).clamp(min=0.0), closeness(error))

    @property
    def tolerance(self) -> float:
        """Least error at which the predicate does not hold."""
        return self.criteria.end_effector_m

    def pose(self, world: World) -> Tensor:
        """Return the target pose, by default with the current orientation, (B, 7)."""
        return torch.cat((self.position, world.end_effector_pose[:, 3:]), dim=-1)

    def error(self, world: World) -> Tensor:
        """Return the distance to the position in meters, (B,)."""
        return geometry.length(world.end_effector_pose[:, :3] - self.position)

    def describe(self, world: World, env: int = 0) -> str:
        place = ", ".join(f"{float(v):.2f}" for v in self.position[env])
        return f"Move the end effector to ({place})"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        world.set_end_effector_pose(self.pose(world), where)
