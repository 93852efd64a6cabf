"""Blocks stacked on each other on a zone or in an area, in a given order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import towards
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.field import area_of
from clevrskills.suites.lohoravens.predicates.resting import (
    LOW_M,
    REWARD_PER_BLOCK,
    InRectangle,
    flat_share,
    lay,
    lay_within,
    left_alone,
    loads,
    one_by_one,
)

BASE_SHARE = 0.9
"""Least share of the lowest block's footprint over the zone."""


class Chain(NamedTuple):
    """The highest correct tower on the zone."""

    blocks: Tensor  # slot of each correct level from below, -1 above, (B, L)
    clear: Tensor  # whether nothing else is on the highest level, (B,) bool

    @property
    def levels(self) -> Tensor:
        """Number of correct levels, (B,)."""
        return (self.blocks >= 0).sum(-1)


@dataclass(frozen=True, eq=False)
class Tower(PhysicalPredicate):
    """Blocks form one tower on a zone, at rest and released.

    The lowest block has 90 % of its footprint over the zone, each other one rests on exactly one,
    and nothing else is on or in the tower.

    Credit: the share of levels that are correct from below without a gap.

    Reward: 6 for each such level, and for the next block reach 0 to 2, carry 2 to 5.
    """

    name = "tower"
    objects: Tensor  # slots of the blocks, -1 for none, (B, n)
    base: Tensor  # slot of the zone, -1 for none, (B,)
    count: Tensor  # required number of levels, (B,)
    kind: Tensor  # class of each block, such as its color, (B, n)
    wanted: Tensor  # required class at each level, -1 for any, (B, L)
    rank: Tensor  # numbers that must not increase upwards, such as sizes, (B, n)

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BLOCK * self.count

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        chain = self.chain(world)
        used = chain.blocks >= 0
        slots = torch.where(used, chain.blocks, self.objects[:, :1])
        holds = (
            (chain.levels == self.count)
            & chain.clear
            & (left_alone(world, slots, self.criteria) | ~used).all(-1)
        )
        shaping = REWARD_PER_BLOCK * chain.levels + self._approach(world, chain)
        share = chain.levels / self.count
        credit = torch.where(holds, 1.0, torch.minimum(share, 1.0 - 0.5 / self.count))
        return replace(self.outcome(holds, shaping), credit=credit)

    def chain(self, world: World) -> Chain:
        """Return the highest correct tower on the zone."""
        on = loads(world, self.criteria.support_share)  # (B, upper, lower)
        member = self._by_slot(torch.ones_like(self.objects), on) > 0
        rank, kind = self._by_slot(self.rank, on), self._by_slot(self.kind, on)
        foot = self._feet(world, on)  # (B, n)
        now, alive = self.objects.clamp(min=0), foot & self._fits(kind, self.objects, 0)
        blocks, length = [torch.where(alive, now, -1)], self.wanted.shape[1]
        above = on.sum(1)  # how many rest on each slot, (B, K)
        below = on.sum(2)
        for level in range(1, length):
            column = on.gather(2, now[:, None].expand(-1, on.shape[1], -1))  # (B, K, n)
            upper = column.int().argmax(1)  # (B, n)
            good = alive & (above.gather(1, now) == 1) & (below.gather(1, upper) == 1)
            good &= member.gather(1, upper) & (level < self.count[:, None])
            good &= rank.gather(1, upper) <= rank.gather(1, now)
            good &= self._fits(kind, upper, level)
            now, alive = torch.where(good, upper, now), good
            blocks.append(torch.where(good, upper, -1))
        chains = torch.stack(blocks, dim=-1)  # (B, n, L)
        best = (chains >= 0).sum(-1).argmax(-1, keepdim=True)
        clear = above.gather(1, now.gather(1, best))[:, 0] == 0
        return Chain(chains.gather(1, best[..., None].expand(-1, -1, length))[:, 0], clear)

    def _by_slot(self, values: Tensor, on: Tensor) -> Tensor:
        """Return values of the blocks (B, n) by slot, (B, K), -1 for other bodies."""
        batch, slots = on.shape[:2]
        table = values.new_full((batch, slots + 1), -1)
        columns = torch.where(self.objects >= 0, self.objects, slots)  # -1 marks none
        return table.scatter(1, columns, values)[:, :slots]

    def _fits(self, kind: Tensor, slots: Tensor, level: int) -> Tensor:
        """Return whether blocks (B, n) are of the class required at a level."""
        wanted = self.wanted[:, level, None]
        return (wanted < 0) | (kind.gather(1, slots.clamp(min=0)) == wanted)

    def _feet(self, world: World, on: Tensor) -> Tensor:
        """Return which blocks can be the lowest one of a tower, (B, n) bool."""
        slots = self.objects.clamp(min=0)
        low, loose = world.bottom(slots) <= LOW_M, ~world.is_held(slots)
        feet = low & loose & (self.objects >= 0) & ~on.any(2).gather(1, slots)
        return feet & self._based(world, slots)

    def _based(self, world: World, slots: Tensor) -> Tensor:
        """Return whether blocks (B, n) are in the place for the tower, (B, n) bool."""
        return flat_share(world, slots, self.base.clamp(min=0)[:, None]) >= BASE_SHARE

    def _approach(self, world: World, chain: Chain) -> Tensor:
        """Return the reward for bringing the next block, in [0, 5], (B,)."""
        slots = self.objects.clamp(min=0)
        placed = (self.objects[:, :, None] == chain.blocks[:, None]).any(-1)
        left = (self.objects >= 0) & ~placed & (chain.levels < self.count)[:, None]
        last = chain.blocks.gather(1, (chain.levels - 1).clamp(min=0)[:, None])[:, 0]
        base = torch.where(self.base >= 0, self.base, slots[:, 0])
        return towards(world, slots, left, torch.where(last >= 0, last, base))

    def describe(self, world: World, env: int = 0) -> str:
        names = world.mention(env, self.objects)
        return f"Stack {', '.join(names[:-1])} and {names[-1]}{self._location_text(world, env)}"

    def _location_text(self, world: World, env: int) -> str:
        """Return the place of the tower in words."""
        base = int(self.base[env])
        return f" on {{obj:{world.keys[base]}}}" if base >= 0 else ""

    def alike(self, env: int, one: int, other: int) -> bool:
        """Return whether two blocks, by slot, have the same class and rank."""
        slots = self.objects[env].tolist()
        columns = [slots.index(slot) for slot in (one, other)]
        return all(len(set(v[env, columns].tolist())) == 1 for v in (self.kind, self.rank))

    def order(self, env: int, built: tuple[int, ...] = ()) -> list[int]:
        """Return the slots of the blocks to put on those that are built, from below; empty if the
        tower cannot be finished.
        """
        slots = self.objects[env].tolist()
        kind, rank = (
            dict(zip(slots, v[env].tolist(), strict=True)) for v in (self.kind, self.rank)
        )
        left = sorted(({*slots} - {-1, *built}), key=lambda slot: (-rank[slot], slots.index(slot)))
        done = [*built]
        for wanted in self.wanted[env, len(built) : int(self.count[env])].tolist():
            fitting = [slot for slot in left if wanted in (-1, kind[slot])]
            if not fitting:
                return []
            done.append(fitting[0])
            left.remove(fitting[0])
        falls = all(rank[a] >= rank[b] for a, b in pairwise(done))
        return done[len(built) :] if falls else []

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Build the tower in the middle of the zone, or where its lowest block is; blocks keep
        their orientation.

        Raises:
            ValueError: No tower has the required order, or the zone is occupied.
        """
        for env, only in one_by_one(world, where):
            order = self.order(env)
            if not order:
                raise ValueError("no tower of these blocks has the required order")
            bodies = [torch.full_like(self.base, slot) for slot in order]
            self._lay_lowest(world, bodies[0], only)
            for onto, body in pairwise(bodies):
                lay(world, body, world.position(onto)[:, :2], onto, only)

    def _lay_lowest(self, world: World, body: Tensor, where: Tensor) -> None:
        """Put the lowest block in place."""
        if bool((self.base[where] >= 0).all()):
            zone = self.base.clamp(min=0)
            lay(world, body, world.position(zone)[:, :2], zone, where)


@dataclass(frozen=True, eq=False)
class TowerInArea(InRectangle, Tower):
    """A :class:`Tower` on the table, with the middle of its lowest block in a rectangle."""

    name = "tower_in_area"

    def _based(self, world: World, slots: Tensor) -> Tensor:
        return self.contains(world, slots)

    def _location_text(self, world: World, env: int) -> str:
        return f" in {area_of(*self.bounds_m(env))}"

    def _lay_lowest(self, world: World, body: Tensor, where: Tensor) -> None:
        lay_within(world, body, self.low, self.high, None, where)
