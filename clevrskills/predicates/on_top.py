"""An object rests on another one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.placement import put
from clevrskills.predicates.base import GoalState, Outcome, PhysicalPredicate
from clevrskills.predicates.shaping import carry, reach
from clevrskills.world import World


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
        held = world.is_held(self.top)
        resting = world.supports(self.bottom, self.top) >= self.criteria.support_share
        resting &= ~world.on_table(self.top)
        if self.inside:
            overhang = world.sparse(
                resting, torch.inf, lambda w, *two: w.overhang(*two), self.top, self.bottom
            )
            resting &= overhang <= self.criteria.inside_overhang_m
        free = resting & ~held & ~world.is_held(self.bottom)
        away = world.sparse(free, 0.0, lambda w, top: w.gripper_distance(top), self.top)
        free &= away > self.criteria.release_distance_m
        still = world.is_static(self.top) & world.is_static(self.bottom)
        carrying = world.sparse(held, 0.0, carry, self.top, world.position(self.bottom))
        approach = torch.where(held, carrying, reach(world, self.top))
        shaping = torch.where(resting, torch.where(held, 5.0, 6.0), approach)
        return self.outcome(free & still, shaping)

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        top, bottom = (world.keys[int(index[env])] for index in (self.top, self.bottom))
        return f"Put {{obj:{top}}} on {{obj:{bottom}}}"

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        put(world, self.top, self.bottom, self.inside, where)
