"""Towers: which blocks, on which zone, in which order, and tasks that ask for some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import Block, FieldScene, padded
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import Layout

MOST_LEVELS = 5
"""Blocks of a tower, at most."""
ROLES = ("objects", "base", "count", "kind", "wanted", "rank")
"""Roles of a tower, in the order of the predicate's arguments."""


def tower_roles(
    scene: FieldScene,
    blocks: Sequence[Block],
    zone: int,
    kinds: Sequence[int] = (),
    wanted: Sequence[int] = (),
    big_below: bool = False,
    count: int | None = None,
) -> dict[str, Any]:
    """Return the roles of a tower of all of some blocks.

    Args:
        scene: The scene.
        blocks: The blocks; none: a tower that is not asked for.
        zone: Slot of the zone; -1: it has none.
        kinds: Class of each block.
        wanted: Class at each level; none: any.
        big_below: Whether small ones may not be below big ones.
        count: Number of levels; ``None``: all of the blocks.
    """
    rank = [round(1000 * block.side_m) for block in blocks] if big_below else ()
    return {
        "objects": scene.slots_of(blocks, MOST_LEVELS),
        "base": zone,
        "count": max(1, len(blocks)) if count is None else count,
        "kind": padded(kinds, MOST_LEVELS, 0),
        "wanted": padded(wanted, MOST_LEVELS),
        "rank": padded(rank, MOST_LEVELS, 0),
    }


def stack_towers(towers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the roles of several towers, each a list."""
    return {name: [each[name] for each in towers] for name in ROLES}


@dataclass(kw_only=True, eq=False)
class StackTask(RavensTask):
    """A task whose goal is the tower, or each active one of the towers, of the roles
    :data:`ROLES`; ``others`` stay out of ``zones``, or of the zone of the only tower.
    """

    predicates: ClassVar[tuple[type[Predicate], ...]] = (Tower,)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        goal: Predicate
        if roles["base"].dim() > 1:
            parts = (roles[name].unbind(1) for name in ROLES)
            towers = tuple(Tower(*of, weight=of[2]) for of in zip(*parts, strict=True))
            goal = Set(towers, roles.get("active"))
        else:
            goal = Tower(*(roles[name] for name in ROLES), weight=roles["count"])
        if "others" not in roles:
            return goal
        zones = roles["zones"] if "zones" in roles else roles["base"][:, None]
        return Keeping(goal, NoneInZone(roles["others"], zones))

    def fields(self, layout: Layout) -> Fields:
        if np.ndim(layout.roles["base"]):
            return {}
        return {"zone": layout.body("base").color}
