"""Blocks that are left alone: unmoved, or out of where they do not belong."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.resting import InRectangle, flat_share
from clevrskills.suites.lohoravens.things import MOVED_M, area_of

ZONE_SHARE = 0.5
"""Share of the footprint over a zone from which on a block is in it."""


@dataclass(frozen=True, eq=False)
class Constraint(PhysicalPredicate):
    """A constraint: each block is as it should be, as all were at the start."""

    max_reward = 1.0
    objects: Tensor  # indices of the blocks, -1 for none, (B, n)

    @abstractmethod
    def kept(self, world: World, state: GoalState) -> Tensor:
        """Return which blocks are as they should be, (B, n) bool."""

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        holds = (self.kept(world, state) | (self.objects < 0)).all(-1)
        return self.outcome(holds, torch.zeros_like(holds, dtype=torch.float32), state=state)

    def _named(self, world: World, env: int) -> str:
        names = world.mention(env, self.objects)
        return ", ".join(names) or "everything else"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Do nothing: it is true at the start."""


@dataclass(frozen=True, eq=False)
class Untouched(Constraint):
    """No block has moved by 2 cm or more since the start."""

    name = "untouched"

    def initial_state(self, world: World) -> GoalState:
        return {"from": self._places(world)}

    def _places(self, world: World) -> Tensor:
        """Return the world positions of the blocks, (B, n, 3)."""
        return world.position(self.objects.clamp(min=0)).clone()

    def kept(self, world: World, state: GoalState) -> Tensor:
        return (self._places(world) - state["from"]).norm(dim=-1) < MOVED_M

    def describe(self, world: World, env: int = 0) -> str:
        return f"Leave {self._named(world, env)} where it is"


@dataclass(frozen=True, eq=False)
class NoneIn(Constraint):
    """No block is in a region but those that were at the start."""

    @abstractmethod
    def inside(self, world: World) -> Tensor:
        """Return which blocks are in the region, (B, n) bool."""

    def initial_state(self, world: World) -> GoalState:
        return {"was": self.inside(world)}

    def kept(self, world: World, state: GoalState) -> Tensor:
        return ~self.inside(world) | state["was"]


@dataclass(frozen=True, eq=False)
class NoneInZone(NoneIn):
    """No block has half of its footprint or more over a zone, at any height, but those that had at
    the start.
    """

    name = "none_in_zone"
    zones: Tensor  # indices of the zones, -1 for none, (B, m)

    def inside(self, world: World) -> Tensor:
        body, zone = self.objects.clamp(min=0)[:, :, None], self.zones.clamp(min=0)[:, None]
        over = flat_share(world, body, zone) >= ZONE_SHARE  # (B, n, m)
        return (over & (self.zones >= 0)[:, None]).any(-1)

    def describe(self, world: World, env: int = 0) -> str:
        zones = world.mention(env, self.zones)
        return f"Keep {self._named(world, env)} out of {', '.join(zones)}"


@dataclass(frozen=True, eq=False)
class NoneInArea(InRectangle, NoneIn):
    """No block has its middle within a rectangle of the table but those that had at the start."""

    name = "none_in_area"
    low: Tensor  # least x and y, (B, 2) m
    high: Tensor  # greatest x and y, (B, 2) m

    def inside(self, world: World) -> Tensor:
        return self.contains(world, self.objects.clamp(min=0))

    def describe(self, world: World, env: int = 0) -> str:
        return f"Keep {self._named(world, env)} out of {area_of(*self.bounds_m(env))}"
