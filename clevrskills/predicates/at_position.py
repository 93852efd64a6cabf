"""An object stands at a place of the table."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import anywhere
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import (
    HELD_PROGRESS,
    HELD_REWARD,
    PUT_DOWN_PROGRESS,
    bring,
    carry,
    descent,
    reach,
)
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class AtPosition(PhysicalPredicate):
    """A body rests on the table within ``criteria.position_m`` of a place, let go; height and
    orientation are free.

    Args:
        object: Index of the body, (B,).
        position: World position of the body's origin, (B, 3).
    """

    name = "at_position"
    max_reward = 6.0
    object: Tensor
    position: Tensor

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        held = world.is_held(self.object)
        offset = world.position(self.object)[:, :2] - self.position[:, :2]
        there = (geometry.length(offset) < self.criteria.position_m) & self.resting(world)
        if anywhere(there):
            there = there & self.aligned(world, state)
        put_down = there & ~held
        holds = world.sparse(put_down, put_down, self._left_alone, self.object)
        shaping = reach(world, self.object, ~(held | there))
        if anywhere(held):
            carrying = torch.where(there, HELD_REWARD, self.carrying(world, state))
            shaping = torch.where(held, carrying, shaping)
        progress = bring(world, self.object, held, lambda: self.way(world, state))
        progress = progress.masked_fill(there, HELD_PROGRESS)
        progress = progress.masked_fill(put_down, PUT_DOWN_PROGRESS)
        return self.outcome(holds, shaping.masked_fill(put_down, self.max_reward), progress)

    def _left_alone(self, world: World, body: Tensor) -> Tensor:
        """Whether a body is at rest and let go, (B,) bool."""
        return world.gripper_clear(body, self.criteria.release_distance_m) & world.is_static(body)

    def resting(self, world: World) -> Tensor:
        """Whether the object rests where it should, (B,) bool."""
        return world.on_table(self.object)

    def aligned(self, world: World, state: GoalState) -> Tensor:
        """Whether the orientation is right, (B,) bool; always so for a position."""
        del state
        return torch.ones(world.num_envs, dtype=torch.bool, device=world.device)

    def way(self, world: World, state: GoalState) -> Tensor:
        """Metres that are left while the object is held, (B,)."""
        del state
        return descent(world.position(self.object) - self.position)

    def carrying(self, world: World, state: GoalState) -> Tensor:
        """Reward while the object is held, (B,)."""
        del state
        return carry(world, self.object, self.position)

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        x, y = (round(float(v), 3) for v in self.position[env, :2])
        return f"Put {{obj:{world.keys[int(self.object[env])]}}} at ({x}, {y})"

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        pose = world.pose(self.object).clone()
        lift = pose[:, 2] - world.bottom(self.object)
        pose[:, :2] = self.position[:, :2]
        pose[:, 2] = lift
        world.set_body_pose(self.object, pose, where)
