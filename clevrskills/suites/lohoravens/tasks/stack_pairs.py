"""Tasks that stack a small block on a big one of its color."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Predicate, Set
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import BIG_M, SMALL_M, Block, FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.towers import StackTask, stack_towers, tower_roles
from clevrskills.tasks.layout import EpisodeRng, Layout


def pairs(scene: FieldScene, colors: Sequence[str]) -> list[tuple[Block, Block]]:
    """Put a big and a small block of each color at free places, and return them.

    Raises:
        LayoutError: There is no room.
    """
    return [(scene.block(color, BIG_M), scene.block(color, SMALL_M)) for color in colors]


@dataclass(kw_only=True, eq=False)
class StackSmallOnBig(RavensTask):
    """Four or five colors with a big and a small block each, and big blocks of further colors: each
    small one goes on the big one of its color, wherever that is.
    """

    FEWEST, MOST, MOST_OTHERS = 4, 5, 2

    predicates = (Set, OnTop)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = int(rng.roles.integers(self.FEWEST, self.MOST + 1))
        others = int(rng.roles.integers(self.MOST_OTHERS + 1))
        colors = self.colors(rng, count + others)
        bigger, smaller = zip(*pairs(scene, colors[:count]), strict=True)
        for color in colors[count:]:
            scene.block(color, BIG_M)
        roles = {
            "objects": scene.slots_of(smaller, self.MOST),
            "below": scene.slots_of(bigger, self.MOST),
            "active": np.arange(self.MOST) < count,
        }
        return scene.layout(**roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        tops, bottoms = (roles[name].clamp(min=0) for name in ("objects", "below"))
        parts = map(OnTop, tops.unbind(1), bottoms.unbind(1))
        return Set(tuple(parts), roles["active"])


@dataclass(kw_only=True, eq=False)
class StackSmallOnBigInZone(StackTask):
    """Two to four colors with a big block, a small block and a zone each: both become a tower in
    the zone, the small one on top.
    """

    FEWEST, MOST = 2, 4

    predicates = (Set, Tower)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = int(rng.roles.integers(self.FEWEST, self.MOST + 1))
        colors = self.colors(rng, count)
        zones = [scene.zone(color, tower=True) for color in colors]
        parts = [
            tower_roles(scene, pair, zone, big_below=True)
            for pair, zone in zip(pairs(scene, colors), zones, strict=True)
        ]
        parts += [tower_roles(scene, (), zones[0])] * (self.MOST - count)
        active = np.arange(self.MOST) < count
        return scene.layout(**stack_towers(parts), active=active)
