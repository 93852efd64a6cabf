"""Planner of picks and places: what a way to meet a leaf of a goal is made of."""

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
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.constraints import NoneIn
from clevrskills.suites.lohoravens.predicates.resting import InRectangle
from clevrskills.suites.lohoravens.scene import INNER
from clevrskills.suites.lohoravens.things import FieldLayout, Rectangle

EDGE_M = 0.01
"""How far inside a part of the table a block is put."""


class UnsolvableError(ClevrSkillsError):  # noqa: N818 (nothing is in error)
    """Error: no pick and place is known that helps."""


Way = Callable[["Planner", Any], "Move | None"]
"""The next move towards a leaf that does not hold; ``None``: it is about to hold, once all rests.

Raises :class:`UnsolvableError` if none is known."""


@dataclass(frozen=True)
class Planner:
    """Planner state that ways use: the goal, the met leaves, the layout, simple moves."""

    goal: Predicate  # the goal
    outcome: Outcome  # what it says of the world
    state: GoalState  # what it remembers
    table: FieldLayout  # what stands where

    @cached_property
    def open(self) -> Sequence[Leaf]:
        """Leaves that do not hold, of those that the environment uses."""
        status = leaf_status(self.goal, self.outcome)
        return [each.leaf for each in status if each.asked and not each.met]

    @cached_property
    def kept(self) -> Sequence[tuple[Leaf, str]]:
        """Leaves of what is to be kept, each with the prefix of what the goal remembers of it."""
        return [*_leaves(self.goal.kept, "1/")] if isinstance(self.goal, Keeping) else []

    def intruders(self) -> Iterator[int]:
        """Yield blocks that are where they must not be."""
        for leaf, prefix in self.kept:
            if isinstance(leaf, NoneIn):
                was = self.state[f"{prefix}was"]
                inside = leaf.inside(self.table.world) & ~was & (leaf.objects >= 0)
                yield from leaf.objects[inside].tolist()

    # ---- moves ----

    def evict(self, slot: int, avoid: Sequence[Rectangle] = ()) -> Move:
        """Take a block, or what is on it, to where it is in nobody's way, nor where to ``avoid``.

        Raises:
            UnsolvableError: There is no such place.
        """
        slot = self.table.topmost(slot)
        low, high = np.array([INNER.x_m, INNER.y_m]).T
        place = self.room(slot, (low, high), self.table.xy(slot), [*self.targets, *avoid])
        if place is None:
            raise UnsolvableError("no free place to put a block aside")
        return self._straight_to(slot, place)

    def room(
        self,
        slot: int,
        within: Rectangle,
        near: np.ndarray | None = None,
        avoid: Sequence[Rectangle] = (),
    ) -> np.ndarray | None:
        """Return a free place for a block, (2,), see :meth:`~..things.FieldLayout.free_place`."""
        low, high = within
        inside = (low + EDGE_M, high - EDGE_M)
        return self.table.free_place(slot, inside, near=near, avoid=avoid, field=INNER)

    @cached_property
    def targets(self) -> Sequence[Rectangle]:
        """Places where nothing is put aside."""
        found = [self.table.rectangle(slot) for slot in self.table.furniture]
        leaves = (*self.goal.leaves(), *(leaf for leaf, _ in self.kept))
        return [*found, *(leaf.bounds_m() for leaf in leaves if isinstance(leaf, InRectangle))]

    def onto(self, slot: int, below: int) -> Move:
        """Put a block on the middle of a body, turned like it; first, what is on it aside."""
        return self.to(slot, self.table.xy(below), self.table.yaw_rad(below), below)

    def to(
        self, slot: int, place: np.ndarray, yaw_rad: float | None = None, onto: int = -1
    ) -> Move:
        """Put a block at a place (2,) of the table or of a body, turned so or as it is; first, what
        is on it aside.
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
    """Yield leaves that are in use, with the prefix of what is remembered of each."""
    if isinstance(predicate, Composite):
        for k, child in enumerate(predicate.children):
            if predicate.active is None or bool(predicate.active[0, k]):
                yield from _leaves(child, f"{prefix}{k}/")
    elif isinstance(predicate, Leaf):
        yield predicate, prefix
