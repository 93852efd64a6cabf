"""Tasks that ask to count blocks by color."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.exactly_in import ExactlyIn
from clevrskills.suites.lohoravens.predicates.put_in import InZone
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    SMALL_M,
    WIDE_ZONE_M,
    WIDEST_ZONE_M,
    Block,
    FieldScene,
    padded,
)
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.towers import StackTask, stack_towers, tower_roles
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_SIDE_BY_SIDE = 4
"""Blocks that a wide zone has room for; for more the widest is taken."""
MOST_BLOCKS = 11
"""Blocks of all colors that go to zones side by side."""
SHARE = 0.5
"""Least share of a block's base that is on the zone."""


def zones_for(
    scene: FieldScene, colors: Sequence[str], counts: Sequence[int]
) -> tuple[list[int], list[list[Block]]]:
    """Put a zone of each color, with room for its blocks, and the blocks; return both.

    Raises:
        LayoutError: There is no room.
    """
    sides = [WIDE_ZONE_M if n <= MOST_SIDE_BY_SIDE else WIDEST_ZONE_M for n in counts]
    zones = [scene.zone(color, side_m) for color, side_m in zip(colors, sides, strict=True)]
    return zones, scene.deal(colors, counts)


def draw_counts(rng: EpisodeRng, ranges: Sequence[tuple[int, int]]) -> list[int]:
    """Draw a number of each range, both ends included."""
    return [int(rng.roles.integers(low, high + 1)) for low, high in ranges]


@dataclass(kw_only=True, eq=False)
class ParityToZone(RavensTask):
    """Three colors with a zone each: all blocks of a color whose number is even, or odd, go to the
    zone of the color, and the others stay out of the zones. One or two colors are meant.
    """

    COLORS, MOST_MOVED = 3, 6

    predicates = (Keeping, Set, InZone, NoneInZone)
    even: ClassVar[bool]  # whether even numbers are meant, or odd ones
    most: ClassVar[int]  # greatest number of blocks of a color
    least: ClassVar[int]  # number that at least one color that is meant has

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = draw_counts(rng, [(1, self.most)] * self.COLORS)
        meant = [(n % 2 == 0) == self.even for n in counts]
        moved = [*compress(counts, meant)]
        if not 1 <= len(moved) <= 2 or max(moved) < self.least:
            raise LayoutError("too few or too many colors are meant")
        if not self.moves[0] <= sum(moved) <= self.moves[1] or sum(counts) > MOST_BLOCKS:
            raise LayoutError("too few or too many blocks")
        zones, blocks = zones_for(scene, self.colors(rng, self.COLORS), counts)
        selected = [*chain.from_iterable(compress(blocks, meant))]
        targets = np.repeat([*compress(zones, meant)], moved).tolist()
        roles = {
            "objects": scene.slots_of(selected, self.MOST_MOVED),
            "targets": padded(targets, self.MOST_MOVED),
            "active": np.arange(self.MOST_MOVED) < len(selected),
            "others": scene.others(selected, MOST_BLOCKS),
            "zones": np.array(zones),
        }
        return scene.layout(**roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, targets = (roles[name].clamp(min=0).unbind(1) for name in ("objects", "targets"))
        parts = tuple(InZone(*pair, SHARE) for pair in zip(objects, targets, strict=True))
        kept = NoneInZone(roles["others"], roles["zones"])
        return Keeping(Set(parts, roles["active"]), kept)

    def fields(self, layout: Layout) -> Fields:
        return {"parity": "even" if self.even else "odd"}


@dataclass(kw_only=True, eq=False)
class MostEvenToZone(RavensTask):
    """Two or three colors with a zone each: the largest even number of blocks of each is in its
    zone, whichever they are, and none is in the zone of another one.
    """

    COLORS, MOST_OF_COLOR = 3, 5

    predicates = (Keeping, Set, ExactlyIn, NoneInZone)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        number = int(rng.roles.integers(2, self.COLORS + 1))
        counts = draw_counts(rng, [(2, self.MOST_OF_COLOR)] * number)
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
            "active": np.arange(self.COLORS) < number,
        }
        return scene.layout(**roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, zone, count, others = (
            roles[name].unbind(1) for name in ("objects", "zone", "count", "other_zones")
        )
        parts = (ExactlyIn(*of, weight=of[-1]) for of in zip(objects, zone, count, strict=True))
        kept = map(NoneInZone, objects, others)
        active = roles["active"]
        return Keeping(Set(tuple(parts), active), Set(tuple(kept), active))


@dataclass(kw_only=True, eq=False)
class MostOddStacked(StackTask):
    """Two colors with a zone each: the largest odd number of blocks of each, big ones and small
    ones, becomes a tower in its zone, no big one above a small one.
    """

    COLORS, FEWEST, MOST, MOST_BIG = 2, 3, 5, 3

    predicates = (Set, Tower)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = draw_counts(rng, [(self.FEWEST, self.MOST)] * self.COLORS)
        bigs = draw_counts(rng, [(1, min(count - 1, self.MOST_BIG)) for count in counts])
        colors = self.colors(rng, self.COLORS)
        zones = [scene.zone(color, tower=True) for color in colors]
        parts = []
        for color, zone, count, big in zip(colors, zones, counts, bigs, strict=True):
            sides = [BIG_M] * big + [SMALL_M] * (count - big)
            blocks = [scene.block(color, side_m) for side_m in sides]
            levels = (count - 1) // 2 * 2 + 1
            parts.append(tower_roles(scene, blocks, zone, big_below=True, count=levels))
        return scene.layout(**stack_towers(parts))


@dataclass(kw_only=True, eq=False)
class StackMostFrequent(StackTask):
    """Tower on one of two zones of the blocks of the most frequent of three colors; no other block
    is put there.
    """

    COUNTS = ((4, 5), (2, 3), (1, 2))
    MOST_OTHERS = 5

    predicates = (Keeping, Tower, NoneInZone)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = draw_counts(rng, self.COUNTS)
        base, _ = (scene.zone(color, tower=True) for color in self.colors(rng, 2))
        selected, *_ = scene.deal(self.colors(rng, len(counts)), counts)
        roles = tower_roles(scene, selected, base)
        return scene.layout(**roles, others=scene.others(selected, self.MOST_OTHERS))
