"""Largest even number of blocks of each color goes to the zone of the color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.exactly_in import ExactlyIn
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.count._colors import draw_counts, padded, zones_for
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_COLORS, MOST_OF_COLOR, MOST_BLOCKS = 3, 5, 11


@dataclass(kw_only=True, eq=False)
class MostEvenToZone(RavensTask):
    """Two or three colors with a zone each: the largest even number of blocks of each is in its
    zone, whichever they are, and none is in the zone of another one.
    """

    key = "most_even_to_zone"
    level = "unseen"
    family = "count"
    capabilities = ("color", "reference", "arithmetic")
    moves = (4, 8)
    sentence = "For each color, put the largest even number of blocks into the zone of that color"
    predicates = (Keeping, Set, ExactlyIn, NoneInZone)
    slots = block_slots(MOST_BLOCKS, zones=MOST_COLORS)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        number = int(rng.roles.integers(2, MOST_COLORS + 1))
        counts = draw_counts(rng, [(2, MOST_OF_COLOR)] * number)
        even = [count // 2 * 2 for count in counts]
        if even == counts or sum(counts) > MOST_BLOCKS or sum(even) > self.moves[1]:
            raise LayoutError("no odd number, or too many blocks")
        zones, blocks = zones_for(scene, self.colors(rng, number), counts)
        unused = range(MOST_COLORS - number)
        roles = {
            "objects": [
                *(scene.slots_of(of, MOST_OF_COLOR) for of in blocks),
                *(padded((), MOST_OF_COLOR) for _ in unused),
            ],
            "zone": [*zones, *(zones[0] for _ in unused)],
            "other_zones": [
                *(padded([z for z in zones if z != zone], MOST_COLORS - 1) for zone in zones),
                *(padded((), MOST_COLORS - 1) for _ in unused),
            ],
            "count": [*even, *(1 for _ in unused)],
            "active": np.arange(MOST_COLORS) < number,
        }
        return scene.layout(sum(even), **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, count, active = roles["objects"], roles["count"], roles["active"]
        colors = range(MOST_COLORS)
        parts = tuple(
            ExactlyIn(objects[:, k], roles["zone"][:, k], count[:, k], weight=count[:, k])
            for k in colors
        )
        kept = tuple(NoneInZone(objects[:, k], roles["other_zones"][:, k]) for k in colors)
        return Keeping(Set(parts, active), Set(kept, active))
