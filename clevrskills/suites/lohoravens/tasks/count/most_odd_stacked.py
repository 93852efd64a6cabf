"""Largest odd number of blocks of each color becomes a tower in the zone of the color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import BIG_M, MIXED_GAP_M, SMALL_M, FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.count._colors import draw_counts
from clevrskills.suites.lohoravens.tasks.stack._towers import tower, tower_roles
from clevrskills.tasks.layout import EpisodeRng, Layout

COLORS, FEWEST, MOST, MOST_BIG = 2, 3, 5, 3


@dataclass(kw_only=True, eq=False)
class MostOddStacked(RavensTask):
    """Two colors with a zone each: the largest odd number of blocks of each, big ones and small
    ones, becomes a tower in its zone, no big one above a small one.
    """

    key = "most_odd_stacked"
    level = "unseen"
    family = "count"
    capabilities = ("color", "size", "reference", "arithmetic")
    moves = (6, 10)
    sentence = "For each color, stack the largest odd number of blocks in its zone, by size"
    predicates = (Set, Tower)
    slots = block_slots(COLORS * MOST, zones=COLORS)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots, MIXED_GAP_M)
        counts = draw_counts(rng, [(FEWEST, MOST)] * COLORS)
        bigs = draw_counts(rng, [(1, min(count - 1, MOST_BIG)) for count in counts])
        colors = self.colors(rng, COLORS)
        zones = [scene.zone(color, tower=True) for color in colors]
        towers = []
        for color, zone, count, big in zip(colors, zones, counts, bigs, strict=True):
            sides = [BIG_M] * big + [SMALL_M] * (count - big)
            blocks = [scene.block(color, side_m) for side_m in sides]
            levels = (count - 1) // 2 * 2 + 1
            towers.append(tower_roles(scene, blocks, zone, big_below=True, count=levels))
        roles = {name: [each[name] for each in towers] for name in towers[0]}
        return scene.layout(int(sum(roles["count"])), **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Set(tuple(tower(roles, k) for k in range(COLORS)))
