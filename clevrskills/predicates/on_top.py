"""An object rests on another one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

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
from clevrskills.sim.placement import put
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class OnTop(PhysicalPredicate):
    """A body rests on another: carried by it, not by the table, both at rest and let go.

    Args:
        top: Index of the upper body, (B,).
        bottom: Index of the lower body, (B,).
    """

    name = "on_top"
    max_reward = 6.0
    top: Tensor
    bottom: Tensor

    inside = False

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        held, resting = world.is_held(self.top), self._resting(world)
        shaping = reach(world, self.top, ~(held | resting))
        shaping = world.sparse(held, shaping, self._carrying, self.top, self.bottom, resting)
        far = torch.zeros_like(shaping)
        way = partial(world.sparse, held, far, _way, self.top, self.bottom)
        progress = bring(world, self.top, held, way)
        if not anywhere(resting):
            return self.outcome(resting, shaping, progress)
        put_down = resting & ~held
        holds = world.sparse(put_down, put_down, self._left_alone, self.top, self.bottom)
        progress = progress.masked_fill(resting, HELD_PROGRESS)
        progress = progress.masked_fill(put_down, PUT_DOWN_PROGRESS)
        return self.outcome(holds, shaping.masked_fill(put_down, self.max_reward), progress)

    def _resting(self, world: World) -> Tensor:
        """Whether the upper body lies where it should, held or not, (B,) bool."""
        carried = world.carries(self.bottom, self.top, self.criteria.support_share)
        if not self.inside:
            return carried
        margin = self.criteria.inside_overhang_m
        return world.sparse(
            carried, carried, lambda w, *two: w.within(*two, margin), self.top, self.bottom
        )

    def _left_alone(self, world: World, top: Tensor, bottom: Tensor) -> Tensor:
        """Whether both are at rest and let go, (B,) bool."""
        free = world.gripper_clear(top, self.criteria.release_distance_m)
        free = free & ~world.is_held(bottom)
        return free & world.is_static(top) & world.is_static(bottom)

    def _carrying(self, world: World, top: Tensor, bottom: Tensor, resting: Tensor) -> Tensor:
        """Reward while the upper body is held, (B,)."""
        return torch.where(resting, HELD_REWARD, carry(world, top, world.position(bottom)))

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        top, bottom = (world.keys[int(index[env])] for index in (self.top, self.bottom))
        return f"Put {{obj:{top}}} on {{obj:{bottom}}}"

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        put(world, self.top, self.bottom, self.inside, where)


def _way(world: World, top: Tensor, bottom: Tensor) -> Tensor:
    """Metres that are left while the upper body is held, (B,)."""
    offset = world.position(top) - world.position(bottom)
    height = world.bottom(top) - world.top(bottom)
    return descent(torch.cat((offset[:, :2], height[:, None]), dim=-1))
