"""Roles of towers: which blocks, on which zone, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import Block, FieldScene

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
    """Roles of a tower of all of some blocks.

    Args:
        scene: The scene.
        blocks: The blocks; none: a tower that is not asked for.
        zone: Slot of the zone; -1: it may stand anywhere.
        kinds: Class of each block.
        wanted: Class at each level; none: any.
        big_below: Whether small ones may not be below big ones.
        count: Number of levels; ``None``: all of the blocks.
    """
    kind, levels = np.zeros(MOST_LEVELS, int), np.full(MOST_LEVELS, -1)
    rank = np.zeros(MOST_LEVELS, int)
    kind[: len(kinds)], levels[: len(wanted)] = kinds, wanted
    if big_below:
        rank[: len(blocks)] = [round(1000 * block.side_m) for block in blocks]
    return {
        "objects": scene.slots_of(list(blocks), MOST_LEVELS),
        "base": zone,
        "count": max(1, len(blocks)) if count is None else count,
        "kind": kind,
        "wanted": levels,
        "rank": rank,
    }


def tower(roles: Mapping[str, Tensor], number: int | None = None) -> Tower:
    """The tower of stacked roles, or one of several."""
    found = [roles[name] if number is None else roles[name][:, number] for name in ROLES]
    return Tower(*found, weight=found[2] - (found[1] < 0).long())
