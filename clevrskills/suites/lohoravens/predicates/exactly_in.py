"""A number of blocks in a zone, no more and no fewer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import towards
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.resting import (
    lay_in_zone,
    left_alone,
    lowest_share,
    one_by_one,
)
from clevrskills.suites.lohoravens.predicates.tower import REWARD_PER_BLOCK


@dataclass(frozen=True, eq=False)
class ExactlyIn(PhysicalPredicate):
    """So many of some blocks are in a zone, at rest and let go, whichever they are.

    Credit: the share of the number that is there; each block too many takes one away.

    Reward: 6 for each block that counts, and for the next one reach 0 to 2, carry 2 to 5.
    """

    name = "exactly_in"
    objects: Tensor  # indices of the blocks, -1 for none, (B, n)
    zone: Tensor  # index of the zone, (B,)
    count: Tensor  # how many of them, (B,)
    share: float = 0.5  # share of the footprint over the zone from which on a block is in it

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BLOCK * self.count

    def inside(self, world: World) -> Tensor:
        """Return which of the blocks are in the zone, (B, n) bool."""
        zone = self.zone[:, None].expand_as(self.objects)
        slots = self.objects.clamp(min=0)
        return lowest_share(world, slots, zone, self.share) & (self.objects >= 0)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        inside, slots = self.inside(world), self.objects.clamp(min=0)
        settled = inside & left_alone(world, slots, self.criteria)
        holds = (inside.sum(-1) == self.count) & (settled.sum(-1) == self.count)
        right = torch.minimum(*(self._right(each.sum(-1)) for each in (inside, settled)))
        left = ~inside & (self.objects >= 0) & (inside.sum(-1) < self.count)[:, None]
        reward = REWARD_PER_BLOCK * right + towards(world, slots, left, self.zone)
        credit = torch.where(holds, 1.0, (right / self.count).clamp(max=0.99))
        return replace(self.outcome(holds, reward), credit=credit)

    def _right(self, number: Tensor) -> Tensor:
        """Return how many of a number (B,) of blocks count; those too many take away, (B,)."""
        return (self.count - (number - self.count).abs()).clamp(min=0)

    def describe(self, world: World, env: int = 0) -> str:
        names = world.mention(env, self.objects)
        zone = world.mention(env, self.zone)[0]
        return f"Put {int(self.count[env])} of {', '.join(names)} in {zone}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the first ones at free places of the zone.

        Raises:
            ValueError: There is no room.
        """
        for env, only in one_by_one(world, where):
            slots = [k for k in self.objects[env].tolist() if k >= 0]
            for slot in slots[: int(self.count[env])]:
                lay_in_zone(world, torch.full_like(self.zone, slot), self.zone, only)
