"""Planner of picks and places: what the ways to achieve a leaf of a goal share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any

import numpy as np

from clevrskills.core.goal.logical import Composite, Keeping
from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate
from clevrskills.core.goal.tree import leaf_status
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.lohoravens.field import FieldLayout, Rectangle
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.constraints import NoneIn
from clevrskills.suites.lohoravens.predicates.resting import InRectangle
from clevrskills.suites.lohoravens.scene import INNER

EDGE_M = 0.01
"""Least distance of a block from the border of the rectangle it is put in."""


class UnsolvableError(ClevrSkillsError):  # noqa: N818 (nothing is in error)
    """Error: no useful pick and place is known."""


Way = Callable[["Planner", Any], "Move | None"]
"""Returns the next move towards a leaf that does not hold; ``None`` if it will hold once all bodies
are at rest. Raises :class:`UnsolvableError` if no move is known."""


@dataclass(frozen=True)
class Planner:
    """Planner state for one move."""

    goal: Predicate
    outcome: Outcome  # outcome of the goal
    state: GoalState  # goal state
    table: FieldLayout

    @cached_property
    def open(self) -> Sequence[Leaf]:
        """Leaves that the environment uses and that do not hold."""
        status = leaf_status(self.goal, self.outcome)
        return [each.leaf for each in status if each.asked and not each.met]

    @cached_property
    def kept(self) -> Sequence[tuple[Leaf, str]]:
        """Constraints, each with the prefix of its entries in the goal state."""
        return [*_leaves(self.goal.kept, "1/")] if isinstance(self.goal, Keeping) else []

    def intruders(self) -> Iterator[int]:
        """Yield blocks in places where they must not be."""
        for leaf, prefix in self.kept:
            if isinstance(leaf, NoneIn):
                kept = leaf.kept(self.table.world, {"was": self.state[f"{prefix}was"]})
                yield from leaf.objects[~kept & (leaf.objects >= 0)].tolist()

    # ---- moves ----

    def evict(self, slot: int, avoid: Sequence[Rectangle] = ()) -> Move:
        """Put a block, or the topmost one on it, aside, and not into rectangles to ``avoid``.

        Raises:
            UnsolvableError: There is no free place.
        """
        slot, (low, high) = self.table.topmost(slot), np.array([INNER.x_m, INNER.y_m]).T
        place = self.room(slot, (low, high), self.table.xy(slot), [*self.targets, *avoid])
        return self._straight_to(slot, place)

    def room(
        self,
        slot: int,
        within: Rectangle,
        near: np.ndarray | None = None,
        avoid: Sequence[Rectangle] = (),
    ) -> np.ndarray:
        """Return a free place for a block, (2,), see :meth:`~..field.FieldLayout.free_place`.

        Raises:
            UnsolvableError: There is none.
        """
        low, high = within
        inside = (low + EDGE_M, high - EDGE_M)
        place = self.table.free_place(slot, inside, near=near, avoid=avoid, field=INNER)
        if place is None:
            raise UnsolvableError("no free place for a block")
        return place

    @cached_property
    def targets(self) -> Sequence[Rectangle]:
        """Rectangles in which nothing is put aside."""
        found = [self.table.rectangle(slot) for slot in self.table.furniture]
        leaves = (*self.goal.leaves(), *(leaf for leaf, _ in self.kept))
        return [*found, *(leaf.bounds_m() for leaf in leaves if isinstance(leaf, InRectangle))]

    def onto(self, slot: int, below: int) -> Move:
        """Put a block on the middle of a body, aligned with it; see :meth:`to`."""
        return self.to(slot, self.table.xy(below), self.table.yaw_rad(below), below)

    def to(
        self, slot: int, place: np.ndarray, yaw_rad: float | None = None, onto: int = -1
    ) -> Move:
        """Put a block at a place (2,) of the table or of a body, at an angle or as it is; if it is
        covered, put the topmost block on it aside instead.
        """
        top = self.table.topmost(slot)
        return self.evict(top) if top != slot else self._straight_to(slot, place, yaw_rad, onto)

    def _straight_to(
        self, slot: int, place: np.ndarray, yaw_rad: float | None = None, onto: int = -1
    ) -> Move:
        (x, y), yaw = self.table.xy(slot), self.table.yaw_rad(slot)
        turn = 0.0 if yaw_rad is None else (yaw_rad - yaw + pi / 4) % (pi / 2) - pi / 4
        to = (float(place[0]), float(place[1]), yaw + turn)
        return Move((float(x), float(y), yaw), to, slot, onto)


def _leaves(predicate: Predicate, prefix: str) -> Iterator[tuple[Leaf, str]]:
    """Yield the leaves in use, each with the prefix of its entries in the goal state."""
    if isinstance(predicate, Composite):
        for k, child in enumerate(predicate.children):
            if predicate.active is None or bool(predicate.active[0, k]):
                yield from _leaves(child, f"{prefix}{k}/")
    elif isinstance(predicate, Leaf):
        yield predicate, prefix
