"""Solver: the next pick and place towards a goal, from any state of the world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from clevrskills.core.goal.logical import Keeping
from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate
from clevrskills.core.goal.tree import leaf_status
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import OnTop
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.kept import NoneIn, NoneInArea
from clevrskills.suites.lohoravens.predicates.put_in import InArea, InBowl, InZone, in_bowl
from clevrskills.suites.lohoravens.predicates.resting import flat_share, loads
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.primitive import Move
from clevrskills.suites.lohoravens.scene import INNER

GAPS_M = (0.03, 0.015, 0.006)
"""Gaps to what stands around that are tried for a free place, the widest first."""
STEP_M = 0.01
MAT_TOP_M = 0.005
"""Up to this height what can't be moved is a mat, on which blocks are put."""
OVER_SHARE = 0.01
CARRIED_SHARE = 0.05
"""Share of its weight with which a block rests on another one that is to be freed."""

Rectangle = tuple[np.ndarray, np.ndarray]
"""Least and greatest x and y."""


class UnsolvableError(ClevrSkillsError):  # noqa: N818 (nothing is in error)
    """No pick and place is known that helps."""


@dataclass(frozen=True)
class Table:
    """What stands where, of one environment.

    Args:
        world: The world, B = 1.
    """

    world: World

    @cached_property
    def blocks(self) -> list[int]:
        """Slots of what can be moved."""
        return self.world.solids.movable[0].nonzero()[:, 0].tolist()

    @cached_property
    def furniture(self) -> list[int]:
        """Slots of what stands there for good: bowls and zones."""
        fixed = self.world.solids.present[0] & ~self.world.solids.movable[0]
        return fixed.nonzero()[:, 0].tolist()

    @cached_property
    def bowls(self) -> list[int]:
        """Slots of bowls."""
        tops = {k: float(self.world.top(_slot(k))[0]) for k in self.furniture}
        return [k for k, top in tops.items() if top > MAT_TOP_M]

    @cached_property
    def _on(self) -> torch.Tensor:
        return loads(self.world, CARRIED_SHARE)[0]

    def xy(self, slot: int) -> np.ndarray:
        """World x and y of a body, (2,)."""
        place: np.ndarray = self.world.body_pose[0, slot, :2].double().numpy()
        return place

    def yaw_rad(self, slot: int) -> float:
        """Turn of a body about the vertical."""
        w, x, y, z = self.world.body_pose[0, slot, 3:].double().tolist()
        return float(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))

    def radius_m(self, slot: int) -> float:
        """Radius of the circle that a body covers, seen from above."""
        sides = self.world.solids.size[0, slot].double().numpy()
        return float(max(sides[:2]) / 2 if slot in self.bowls else np.hypot(*sides[:2]) / 2)

    def above(self, slot: int) -> list[int]:
        """Slots of what rests right on a block."""
        return self._on[:, slot].nonzero()[:, 0].tolist()

    def topmost(self, slot: int) -> int:
        """What has to be taken first to free a block: itself if nothing is on it."""
        seen = {slot}
        while above := [k for k in self.above(slot) if k not in seen]:
            slot = above[0]
            seen.add(slot)
        return slot

    def over(self, zone: int) -> list[int]:
        """Slots of blocks that are over a zone, if only with an edge."""
        return [
            k
            for k in self.blocks
            if float(flat_share(self.world, _slot(k), _slot(zone))[0]) > OVER_SHARE
        ]

    def in_bowl(self, bowl: int) -> list[int]:
        """Slots of blocks in a bowl."""
        bodies = torch.tensor([self.blocks])
        found = in_bowl(self.world, bodies, torch.full_like(bodies, bowl))[0]
        return [k for k, inside in zip(self.blocks, found.tolist(), strict=True) if inside]

    def free_place(
        self,
        slot: int,
        within: Rectangle,
        avoid: Sequence[Rectangle] = (),
        near: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """A place for a block clear of everything, (2,); ``None``: there is none.

        Args:
            slot: Slot of the block.
            within: Where its middle may be.
            avoid: Where it may not be.
            near: What it is to be near to, (2,); ``None``: the middle.
        """
        low, high = within
        near = (low + high) / 2 if near is None else near
        ticks = [np.arange(low[k] + STEP_M, high[k] - STEP_M / 2, STEP_M) for k in range(2)]
        grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        radius = self.radius_m(slot)
        for a, b in avoid:
            grid = grid[((grid < a - radius) | (grid > b + radius)).any(-1)]
        grid = grid[[INNER.contains(x, y) for x, y in grid]] if len(grid) else grid
        obstacles = [k for k in (*self.blocks, *self.bowls) if k != slot]
        for gap_m in GAPS_M:
            free = np.ones(len(grid), bool)
            for other in obstacles:
                apart = np.linalg.norm(grid - self.xy(other), axis=-1)
                free &= apart >= radius + self.radius_m(other) + gap_m
            if free.any():
                left = grid[free]
                return left[np.linalg.norm(left - near, axis=-1).argmin()]
        return None

    def rectangle(self, slot: int) -> Rectangle:
        """What a zone or bowl covers."""
        half = self.world.solids.size[0, slot, :2].double().numpy() / 2
        return self.xy(slot) - half, self.xy(slot) + half


def next_move(goal: Predicate, world: World, state: GoalState) -> Move | None:
    """The next pick and place.

    Args:
        goal: The goal of one environment.
        world: Where everything is, B = 1.
        state: What the goal remembers.

    Returns:
        ``None`` if the goal holds, or will as soon as all is at rest.

    Raises:
        UnsolvableError: None is known that helps.
    """
    outcome = goal.evaluate(world, state)
    if bool(outcome.holds[0]):
        return None
    table = Table(world)
    return Planner(goal, outcome, state, table).move()


@dataclass(frozen=True)
class Planner:
    """Chooses the next pick and place.

    Args:
        goal: The goal.
        outcome: What it says of the world.
        state: What it remembers.
        table: What stands where.
    """

    goal: Predicate
    outcome: Outcome
    state: GoalState
    table: Table

    def move(self) -> Move | None:
        """See :func:`next_move`."""
        if self.table.world.held[0] >= 0:
            raise UnsolvableError("something is held")
        intruder = self._intruder()
        if intruder is not None:
            return self._evict(intruder)
        for leaf in self._open():
            match leaf:
                case Tower():
                    move = self._stack(leaf)
                case OnTop():
                    move = self._put_on(int(leaf.top[0]), int(leaf.bottom[0]))
                case InZone():
                    move = self._put_in_zone(leaf)
                case InArea():
                    move = self._put_in_area(leaf)
                case InBowl():
                    move = self._put_in_bowl(leaf)
                case _:
                    raise UnsolvableError(f"no way is known to {leaf.name}")
            if move is not None:
                return move
        return None

    def _open(self) -> Iterator[Leaf]:
        """Leaves that do not hold, of those that the environment uses."""
        for status in leaf_status(self.goal, self.outcome):
            if status.asked and not status.met:
                yield status.leaf

    def _intruder(self) -> int | None:
        """A block that is where it must not be."""
        kept = self.goal.kept if isinstance(self.goal, Keeping) else None
        if not isinstance(kept, NoneIn):
            return None
        was = self.state["1/was"]
        inside = kept.inside(self.table.world) & ~was & (kept.objects >= 0)
        found = kept.objects[inside].tolist()
        return int(found[0]) if found else None

    # ---- ways to do it ----

    def _stack(self, leaf: Tower) -> Move | None:
        table, chain = self.table, leaf.chain(self.table.world)
        built = tuple(k for k in chain.blocks[0].tolist() if k >= 0)
        zone = int(leaf.base[0])
        if not built:
            over = table.over(zone)
            if over:
                return self._evict(over[0])
            return self._onto(leaf.order(0)[0], zone)
        above = table.above(built[-1])
        if above:
            return self._evict(above[0])
        stray = [k for k in table.over(zone) if k not in built]
        if stray and table.topmost(stray[0]) not in built:
            return self._evict(stray[0])
        if len(built) == int(leaf.count[0]):
            return None
        order = leaf.order(0, built)
        return self._onto(order[0], built[-1]) if order else self._evict(built[-1])

    def _put_on(self, top: int, bottom: int) -> Move:
        blocking = [k for k in self.table.above(bottom) if k != top]
        return self._evict(blocking[0]) if blocking else self._onto(top, bottom)

    def _put_in_zone(self, leaf: InZone) -> Move | None:
        body, zone = int(leaf.object[0]), int(leaf.zone[0])
        others = [k for k in self.table.over(zone) if k != body]
        return self._evict(others[0]) if others else self._onto(body, zone)

    def _put_in_area(self, leaf: InArea) -> Move | None:
        body = int(leaf.object[0])
        bounds = (leaf.low[0].double().numpy(), leaf.high[0].double().numpy())
        if bool(leaf.there(self.table.world)[0]):
            return None  # it is about to rest
        place = self.table.free_place(body, bounds)
        if place is not None:
            return self._to(body, place)
        inside = [
            k
            for k in self.table.blocks
            if k != body
            and all(a < v < b for v, a, b in zip(self.table.xy(k), *bounds, strict=True))
        ]
        if not inside:
            raise UnsolvableError("no free place in the area")
        return self._evict(inside[0])

    def _put_in_bowl(self, leaf: InBowl) -> Move | None:
        """Blocks and empty bowls are matched, so that none is left without."""
        if bool(leaf.there(self.table.world)[0]):
            return None
        leaves = [each for each in self._open() if isinstance(each, InBowl)]
        empty = [k for k in self.table.bowls if not self.table.in_bowl(k)]
        right = [[int(k) for k in each.bowls[0].tolist()] for each in leaves]
        cost = np.array([[float(bowl not in known) for bowl in empty] for known in right])
        body, own = int(leaf.object[0]), next(i for i, each in enumerate(leaves) if each is leaf)
        if empty:
            rows, columns = linear_sum_assignment(cost)
            for row, column in zip(rows, columns, strict=True):
                if row == own and cost[row, column] == 0.0:
                    return self._onto(body, empty[column])
        taken = [k for bowl in right[own] if bowl >= 0 for k in self.table.in_bowl(bowl)]
        if not taken:
            raise UnsolvableError("no bowl for the block")
        return self._evict(taken[0])

    # ---- picks and places ----

    def _evict(self, slot: int) -> Move:
        """Take a block, or what is on it, to where it is in nobody's way."""
        slot = self.table.topmost(slot)
        field = (np.array([INNER.x_m[0], INNER.y_m[0]]), np.array([INNER.x_m[1], INNER.y_m[1]]))
        near = self.table.xy(slot)
        place = self.table.free_place(slot, field, self._targets(), near)
        if place is None:
            raise UnsolvableError("no free place to put a block aside")
        return self._to(slot, place, aside=True)

    def _targets(self) -> list[Rectangle]:
        """Where blocks do not go by the way."""
        found = [self.table.rectangle(slot) for slot in self.table.furniture]
        kept = [self.goal.kept] if isinstance(self.goal, Keeping) else []
        for leaf in (*self.goal.leaves(), *kept):
            if isinstance(leaf, InArea | NoneInArea):
                found.append((leaf.low[0].double().numpy(), leaf.high[0].double().numpy()))
        return found

    def _onto(self, slot: int, below: int) -> Move:
        """Put a block on the middle of a body, turned like it."""
        return self._to(slot, self.table.xy(below), self.table.yaw_rad(below))

    def _to(
        self, slot: int, place: np.ndarray, yaw_rad: float | None = None, aside: bool = False
    ) -> Move:
        """Put a block at a place; first what is on it is put aside."""
        if not aside and (top := self.table.topmost(slot)) != slot:
            return self._evict(top)
        (x, y), yaw = self.table.xy(slot), self.table.yaw_rad(slot)
        turn = 0.0 if yaw_rad is None else (yaw_rad - yaw + pi / 4) % (pi / 2) - pi / 4
        return Move((float(x), float(y), yaw), (float(place[0]), float(place[1]), yaw + turn))


def _slot(slot: int) -> torch.Tensor:
    return torch.tensor([slot])
