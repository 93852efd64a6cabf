"""Tasks that require counting the blocks of each color."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.put_in import ExactlyIn, InZone
from clevrskills.suites.lohoravens.scene import (
    WIDE_ZONE_M,
    WIDEST_ZONE_M,
    Block,
    FieldScene,
    padded,
)
from clevrskills.suites.lohoravens.tasks.base import RavensTask, set_of
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_SIDE_BY_SIDE = 4
"""Greatest number of blocks in a wide zone; more need the widest."""
MOST_BLOCKS = 11
"""Greatest number of blocks."""
SHARE = 0.5
"""Least share of a block's base on the zone."""


def zones_for(
    scene: FieldScene, colors: Sequence[str], counts: Sequence[int]
) -> tuple[list[int], list[list[Block]]]:
    """Add a zone for the blocks of each color, and the blocks; return both.

    Raises:
        LayoutError: There is no room.
    """
    sides = [WIDE_ZONE_M if n <= MOST_SIDE_BY_SIDE else WIDEST_ZONE_M for n in counts]
    zones = [scene.zone(color, side_m) for color, side_m in zip(colors, sides, strict=True)]
    return zones, scene.deal(colors, counts)


@dataclass(kw_only=True, eq=False)
class ParityToZone(RavensTask):
    """Put all blocks of each color with an even, or odd, count into the zone of that color.

    There are three colors with a zone each, of which one or two have such a count. All other
    blocks stay out of the zones.
    """

    COLORS, MOST_MOVED = 3, 6

    predicates = (Keeping, Set, InZone, NoneInZone)
    even: ClassVar[bool]  # whether the counts are even or odd
    most: ClassVar[int]  # greatest number of blocks of a color
    least: ClassVar[int]  # least number of blocks of the most frequent selected color

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = [rng.number((1, self.most)) for _ in range(self.COLORS)]
        meant = [(n % 2 == 0) == self.even for n in counts]
        moved = [*compress(counts, meant)]
        if not 1 <= len(moved) <= 2 or max(moved) < self.least:
            raise LayoutError("too few or too many colors are selected")
        if not self.moves[0] <= sum(moved) <= self.moves[1] or sum(counts) > MOST_BLOCKS:
            raise LayoutError("too few or too many blocks")
        zones, blocks = zones_for(scene, self.colors(rng, self.COLORS), counts)
        selected = [*chain.from_iterable(compress(blocks, meant))]
        targets = np.repeat([*compress(zones, meant)], moved).tolist()
        roles = {
            "objects": scene.slots_of(selected, self.MOST_MOVED),
            "targets": padded(targets, self.MOST_MOVED),
            "active": np.arange(self.MOST_MOVED) < len(selected),
            "others": scene.other_slots(selected, MOST_BLOCKS),
        }
        return scene.layout(**roles, zones=zones)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        kept = NoneInZone(roles["others"], roles["zones"])
        return Keeping(set_of(InZone, roles, "objects", "targets", share=SHARE), kept)

    def fields(self, layout: Layout) -> Fields:
        return {"parity": "even" if self.even else "odd"}


@dataclass(kw_only=True, eq=False)
class MostEvenToZone(RavensTask):
    """Put the largest even number of blocks of each of two or three colors into its zone.

    Any blocks of the color count, and none may be in the zone of another color.
    """

    COLORS, MOST_OF_COLOR = 3, 5

    predicates = (Keeping, Set, ExactlyIn, NoneInZone)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        number = rng.number((2, self.COLORS))
        counts = [rng.number((2, self.MOST_OF_COLOR)) for _ in range(number)]
        even = [count // 2 * 2 for count in counts]
        if even == counts or sum(counts) > MOST_BLOCKS or sum(even) > self.moves[1]:
            raise LayoutError("no odd number, or too many blocks")
        zones, blocks = zones_for(scene, self.colors(rng, number), counts)
        unused = self.COLORS - number
        others = [[z for z in zones if z != zone] for zone in zones]
        roles = {
            "objects": [scene.slots_of(of, self.MOST_OF_COLOR) for of in (*blocks, *[()] * unused)],
            "zone": [*zones, *[zones[0]] * unused],
            "other_zones": [padded(of, self.COLORS - 1) for of in (*others, *[()] * unused)],
            "count": [*even, *[1] * unused],
        }
        return scene.layout(**roles, active=np.arange(self.COLORS) < number)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        names = ("objects", "zone", "count", "other_zones")
        objects, zone, count, others = (roles[name].unbind(1) for name in names)
        parts = (ExactlyIn(*of, weight=of[-1]) for of in zip(objects, zone, count, strict=True))
        kept = map(NoneInZone, objects, others)
        return Keeping(Set(tuple(parts), roles["active"]), Set(tuple(kept), roles["active"]))
