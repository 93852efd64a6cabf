"""Constraints: blocks that stay where they are, or out of zones, bowls or areas."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.field import MOVED_M, area_of
from clevrskills.suites.lohoravens.predicates.put_in import in_bowl
from clevrskills.suites.lohoravens.predicates.resting import InRectangle, flat_share

ZONE_SHARE = 0.5
"""Least share of the footprint over a zone for a block to be in it."""


@dataclass(frozen=True, eq=False)
class Constraint(PhysicalPredicate):
    """A condition on blocks that holds at the start."""

    max_reward = 1.0
    objects: Tensor  # slots of the blocks, -1 for none, (B, n)

    @abstractmethod
    def kept(self, world: World, state: GoalState) -> Tensor:
        """Return for which blocks it holds, (B, n) bool."""

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        holds = (self.kept(world, state) | (self.objects < 0)).all(-1)
        return self.outcome(holds, torch.zeros_like(holds, dtype=torch.float32), state=state)

    def _named(self, world: World, env: int) -> str:
        return ", ".join(world.mention(env, self.objects)) or "everything else"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Do nothing: it holds at the start."""


@dataclass(frozen=True, eq=False)
class Untouched(Constraint):
    """No block has moved by 2 cm or more since the start."""

    name = "untouched"

    def initial_state(self, world: World) -> GoalState:
        return {"from": self._positions(world)}

    def _positions(self, world: World) -> Tensor:
        """Return the world positions of the blocks, (B, n, 3)."""
        return world.position(self.objects.clamp(min=0)).clone()

    def kept(self, world: World, state: GoalState) -> Tensor:
        return (self._positions(world) - state["from"]).norm(dim=-1) < MOVED_M

    def describe(self, world: World, env: int = 0) -> str:
        return f"Leave {self._named(world, env)} where it is"


@dataclass(frozen=True, eq=False)
class NoneIn(Constraint):
    """No block is in a region, except those that were there at the start."""

    @abstractmethod
    def inside(self, world: World) -> Tensor:
        """Return which blocks are in the region, (B, n) bool."""

    @abstractmethod
    def region(self, world: World, env: int) -> str:
        """Return the region in words."""

    def initial_state(self, world: World) -> GoalState:
        return {"was": self.inside(world)}

    def kept(self, world: World, state: GoalState) -> Tensor:
        return ~self.inside(world) | state["was"]

    def describe(self, world: World, env: int = 0) -> str:
        return f"Keep {self._named(world, env)} out of {self.region(world, env)}"


@dataclass(frozen=True, eq=False)
class NoneInZone(NoneIn):
    """No block has half of its footprint or more over a zone, at any height, except those that had
    at the start.
    """

    name = "none_in_zone"
    zones: Tensor  # slots of the zones, -1 for none, (B, m)

    def inside(self, world: World) -> Tensor:
        body, zone = self.objects.clamp(min=0)[:, :, None], self.zones.clamp(min=0)[:, None]
        over = flat_share(world, body, zone) >= ZONE_SHARE  # (B, n, m)
        return (over & (self.zones >= 0)[:, None]).any(-1)

    def region(self, world: World, env: int) -> str:
        return ", ".join(world.mention(env, self.zones))


@dataclass(frozen=True, eq=False)
class NoneInArea(InRectangle, NoneIn):
    """No block has its middle in a rectangle of the table, except those that had at the start."""

    name = "none_in_area"

    def inside(self, world: World) -> Tensor:
        return self.contains(world, self.objects.clamp(min=0))

    def region(self, world: World, env: int) -> str:
        return area_of(*self.bounds_m(env))


@dataclass(frozen=True, eq=False)
class NoneInBowl(NoneIn):
    """No block is in a bowl, except those that were in one at the start."""

    name = "none_in_bowl"
    bowls: Tensor  # slots of the bowls, -1 for none, (B, m)

    def inside(self, world: World) -> Tensor:
        body = self.objects.clamp(min=0)[:, :, None]
        return in_bowl(world, body, self.bowls[:, None]).any(-1)  # of (B, n, m)

    def region(self, world: World, env: int) -> str:
        return "the bowls"
