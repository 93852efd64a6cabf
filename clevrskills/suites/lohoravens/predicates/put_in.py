"""Blocks in a zone, in an area of the table, or in a bowl."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from clevrskills.core.goal.context import broadcast_slots
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate, Placing
from clevrskills.predicates.shaping import PUT_DOWN_REWARD, carry, descent, put_down, towards
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.field import area_of
from clevrskills.suites.lohoravens.predicates.resting import (
    REWARD_PER_BLOCK,
    InRectangle,
    lay_first,
    lay_in_zone,
    lay_within,
    left_alone,
    lowest_share,
    one_by_one,
)

FLOOR_M = 0.008
"""Height of the floor of a bowl above its foot."""
BOWL_RADIUS_M = 0.045
"""Greatest distance between the axis of a bowl and the middle of a block in it."""


@dataclass(frozen=True, eq=False)
class PutIn(Placing):
    """A block is in a place, at rest and released.

    Reward: as of :class:`~clevrskills.predicates.OnTop`.
    """

    max_reward = PUT_DOWN_REWARD
    handles = ("object",)
    object: Tensor  # slot of the block, (B,)

    @abstractmethod
    def in_place(self, world: World) -> Tensor:
        """Return whether it is in the place, held or not, (B,) bool."""

    def placed(self, world: World, state: GoalState) -> Tensor:
        return self.in_place(world)

    @abstractmethod
    def target(self, world: World) -> Tensor:
        """Return a world position in the place, (B, 3)."""

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        placed, held = self.in_place(world), world.is_held(self.object)
        holds = placed & left_alone(world, self.object, self.criteria)

        def carried() -> Tensor:
            target = self.target(world)
            way = descent(world.position(self.object) - target)
            return torch.stack((carry(world, self.object, target), way), dim=-1)

        return self.outcome(holds, *put_down(world, self.object, held, placed, carried))


@dataclass(frozen=True, eq=False)
class InZone(PutIn):
    """A block has a share of its footprint over a zone.

    It lies on the mat, or on a chain of blocks whose lowest block does, with the same share.
    """

    name = "in_zone"
    zone: Tensor  # slot of the zone, (B,)
    share: float = 0.9  # least share

    def in_place(self, world: World) -> Tensor:
        one = (self.object[:, None], self.zone[:, None])
        return lowest_share(world, *one, self.share)[:, 0]

    def target(self, world: World) -> Tensor:
        return world.position(self.zone)

    def describe(self, world: World, env: int = 0) -> str:
        block, zone = world.mention(env, self.object, self.zone)
        return f"Put {block} in {zone}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block at the first free place of the zone, or raise ``ValueError``."""
        lay_in_zone(world, self.object, self.zone, where)


@dataclass(frozen=True, eq=False)
class InArea(InRectangle, PutIn):
    """A block has its middle in a rectangle of the table, at any height."""

    name = "in_area"

    def in_place(self, world: World) -> Tensor:
        return self.contains(world, self.object[:, None])[:, 0]

    def target(self, world: World) -> Tensor:
        middle = (self.low + self.high) / 2
        return torch.cat((middle, torch.zeros_like(middle[:, :1])), dim=-1)

    def describe(self, world: World, env: int = 0) -> str:
        (block,) = world.mention(env, self.object)
        return f"Put {block} in {area_of(*self.bounds_m(env))}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block at the first free place of the area, or raise ``ValueError``."""
        lay_within(world, self.object, self.low, self.high, None, where)


@dataclass(frozen=True, eq=False)
class InBowl(PutIn):
    """A block is in one of some bowls, see :func:`in_bowl`."""

    name = "in_bowl"
    bowls: Tensor  # slots of the bowls, -1 for none, (B, n)

    def in_place(self, world: World) -> Tensor:
        return in_bowl(world, self.object[:, None], self.bowls).any(-1)

    def target(self, world: World) -> Tensor:
        first = (self.bowls >= 0).int().argmax(-1, keepdim=True)
        return world.position(self.bowls.gather(1, first)[:, 0])

    def describe(self, world: World, env: int = 0) -> str:
        bowls = world.mention(env, self.bowls)
        return f"Put {world.mention(env, self.object)[0]} in {' or '.join(bowls)}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block into the first empty bowl; raise ``ValueError`` if there is none."""
        for env, only in one_by_one(world, where):
            bowls = [torch.full_like(self.object, k) for k in self.bowls[env].tolist() if k >= 0]
            middles = (world.position(bowl)[:, :2] for bowl in bowls)
            lay_first(world, self.object, middles, None, only)
            pose = world.pose(self.object).clone()
            pose[:, 2] += FLOOR_M
            world.set_body_pose(self.object, pose, only)


@broadcast_slots
def in_bowl(world: World, body: Tensor, bowl: Tensor) -> Tensor:
    """Return whether blocks (B,) are in bowls (B,), -1 for none, held or not, (B,) bool.

    The middle of the block is within 4.5 cm of the axis, its lowest point is below the rim, and it
    is not on the table.
    """
    known = bowl.clamp(min=0)
    aside = (world.position(body) - world.position(known))[:, :2].norm(dim=-1)
    low = world.bottom(body) < world.top(known)
    return (aside <= BOWL_RADIUS_M) & low & ~world.on_table(body) & (bowl >= 0)


@dataclass(frozen=True, eq=False)
class ExactlyIn(PhysicalPredicate):
    """Exactly ``count`` of some blocks are in a zone, at rest and released, whichever they are.

    Credit: the share of the count that is there; each block too many takes one away.

    Reward: 6 for each block that counts, and for the next one reach 0 to 2, carry 2 to 5.
    """

    name = "exactly_in"
    objects: Tensor  # slots of the blocks, -1 for none, (B, n)
    zone: Tensor  # slot of the zone, (B,)
    count: Tensor  # required number, (B,)
    share: float = 0.5  # least share of the footprint over the zone

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BLOCK * self.count

    def inside(self, world: World) -> Tensor:
        """Return which blocks are in the zone, (B, n) bool."""
        zone = self.zone[:, None].expand_as(self.objects)
        slots = self.objects.clamp(min=0)
        return lowest_share(world, slots, zone, self.share) & (self.objects >= 0)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        inside, slots = self.inside(world), self.objects.clamp(min=0)
        settled = inside & left_alone(world, slots, self.criteria)
        numbers = torch.stack((inside.sum(-1), settled.sum(-1)))  # (2, B)
        holds = (numbers == self.count).all(0)
        right = (self.count - (numbers - self.count).abs()).clamp(min=0).amin(0)
        left = ~inside & (self.objects >= 0) & (numbers[0] < self.count)[:, None]
        reward = REWARD_PER_BLOCK * right + towards(world, slots, left, self.zone)
        credit = torch.where(holds, 1.0, (right / self.count).clamp(max=0.99))
        return replace(self.outcome(holds, reward), credit=credit)

    def describe(self, world: World, env: int = 0) -> str:
        names = world.mention(env, self.objects)
        zone = world.mention(env, self.zone)[0]
        return f"Put {int(self.count[env])} of {', '.join(names)} in {zone}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the first blocks at free places of the zone, or raise ``ValueError``."""
        for env, only in one_by_one(world, where):
            slots = [k for k in self.objects[env].tolist() if k >= 0]
            for slot in slots[: int(self.count[env])]:
                lay_in_zone(world, torch.full_like(self.zone, slot), self.zone, only)
