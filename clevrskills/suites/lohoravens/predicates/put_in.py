"""Blocks put where they belong: in a zone, in an area of the table, in a bowl."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.context import broadcast_slots
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import Placing
from clevrskills.predicates.shaping import PUT_DOWN_REWARD, carry, descent, put_down
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.resting import (
    InRectangle,
    lay_first,
    lay_in_zone,
    lay_within,
    left_alone,
    lowest_share,
    one_by_one,
)
from clevrskills.suites.lohoravens.things import area_of

FLOOR_M = 0.008
"""Height of the floor of a bowl over its foot."""
BOWL_RADIUS_M = 0.045
"""How far from the axis of a bowl the middle of a block in it is at most."""


@dataclass(frozen=True, eq=False)
class PutIn(Placing):
    """A block is somewhere, at rest and let go.

    Reward: as of :class:`~clevrskills.predicates.OnTop`.
    """

    max_reward = PUT_DOWN_REWARD
    handles = ("object",)
    object: Tensor  # index of the block, (B,)

    @abstractmethod
    def there(self, world: World) -> Tensor:
        """Return whether it is where it should be, held or not, (B,) bool."""

    def placed(self, world: World, state: GoalState) -> Tensor:
        del state
        return self.there(world)

    @abstractmethod
    def target(self, world: World) -> Tensor:
        """Return a world position that is sure to be right, (B, 3)."""

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        placed, held = self.there(world), world.is_held(self.object)
        holds = placed & left_alone(world, self.object, self.criteria)

        def carried() -> Tensor:
            target = self.target(world)
            way = descent(world.position(self.object) - target)
            return torch.stack((carry(world, self.object, target), way), dim=-1)

        return self.outcome(holds, *put_down(world, self.object, held, placed, carried))


@dataclass(frozen=True, eq=False)
class InZone(PutIn):
    """A share of a block's footprint is over a zone; it lies on the mat, or on a chain of blocks
    whose lowest one does with the same share.
    """

    name = "in_zone"
    zone: Tensor  # index of the zone, (B,)
    share: float = 0.9  # the least share that counts

    def there(self, world: World) -> Tensor:
        one = (self.object[:, None], self.zone[:, None])
        return lowest_share(world, *one, self.share)[:, 0]

    def target(self, world: World) -> Tensor:
        return world.position(self.zone)

    def describe(self, world: World, env: int = 0) -> str:
        block, zone = world.mention(env, self.object, self.zone)
        return f"Put {block} in {zone}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block at the first free place of the zone, the middle first.

        Raises:
            ValueError: There is none.
        """
        lay_in_zone(world, self.object, self.zone, where)


@dataclass(frozen=True, eq=False)
class InArea(InRectangle, PutIn):
    """The middle of a block is within a rectangle of the table, at any height."""

    name = "in_area"
    low: Tensor  # least x and y, (B, 2) m
    high: Tensor  # greatest x and y, (B, 2) m; on the border is outside

    def there(self, world: World) -> Tensor:
        return self.contains(world, self.object[:, None])[:, 0]

    def target(self, world: World) -> Tensor:
        middle = (self.low + self.high) / 2
        return torch.cat((middle, torch.zeros_like(middle[:, :1])), dim=-1)

    def describe(self, world: World, env: int = 0) -> str:
        (block,) = world.mention(env, self.object)
        return f"Put {block} in {area_of(*self.bounds_m(env))}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block at the first free place of a grid over the area.

        Raises:
            ValueError: There is none.
        """
        lay_within(world, self.object, self.low, self.high, None, where)


@dataclass(frozen=True, eq=False)
class InBowl(PutIn):
    """A block is in one of some bowls: its middle within 4.5 cm of the axis, its lowest point below
    the rim, and not on the table.
    """

    name = "in_bowl"
    bowls: Tensor  # indices of the bowls that are right, -1 for none, (B, n)

    def there(self, world: World) -> Tensor:
        return in_bowl(world, self.object[:, None], self.bowls).any(-1)

    def target(self, world: World) -> Tensor:
        return world.position(self._first())

    def _first(self) -> Tensor:
        """Return the first right bowl, (B,)."""
        return self.bowls.gather(1, (self.bowls >= 0).int().argmax(-1, keepdim=True))[:, 0]

    def describe(self, world: World, env: int = 0) -> str:
        bowls = world.mention(env, self.bowls)
        return f"Put {world.mention(env, self.object)[0]} in {' or '.join(bowls)}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block into the first of the bowls that has nothing in it.

        Raises:
            ValueError: There is none.
        """
        for env, only in one_by_one(world, where):
            bowls = [torch.full_like(self.object, k) for k in self.bowls[env].tolist() if k >= 0]
            middles = (world.position(bowl)[:, :2] for bowl in bowls)
            lay_first(world, self.object, middles, None, only)
            pose = world.pose(self.object).clone()
            pose[:, 2] += FLOOR_M
            world.set_body_pose(self.object, pose, only)


@broadcast_slots
def in_bowl(world: World, body: Tensor, bowl: Tensor) -> Tensor:
    """Return whether blocks (B,) are in bowls (B,), -1 for none, held or not, (B,) bool."""
    known = bowl.clamp(min=0)
    aside = (world.position(body) - world.position(known))[:, :2].norm(dim=-1)
    low = world.bottom(body) < world.top(known)
    return (aside <= BOWL_RADIUS_M) & low & ~world.on_table(body) & (bowl >= 0)
