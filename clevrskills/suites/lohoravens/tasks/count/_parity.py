"""Base of tasks that bring the colors with an even or an odd number of blocks to their zones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.put_in import InZone
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.count._colors import draw_counts, padded, zones_for
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

COLORS, MOST_MOVED, MOST_BLOCKS = 3, 6, 11
SHARE = 0.5


@dataclass(kw_only=True, eq=False)
class ParityToZone(RavensTask):
    """Three colors with a zone each: all blocks of a color whose number is even, or odd, go to the
    zone of the color, and the others stay out of the zones. One or two colors are meant.

    Attributes:
        even: Whether even numbers are meant, or odd ones.
        most: Greatest number of blocks of a color.
        least: Number that at least one color that is meant has.
    """

    family = "count"
    capabilities = ("color", "reference", "arithmetic")
    predicates = (Keeping, Set, InZone, NoneInZone)
    slots = block_slots(MOST_BLOCKS, zones=COLORS)
    even: ClassVar[bool]
    most: ClassVar[int]
    least: ClassVar[int]

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        counts = draw_counts(rng, [(1, self.most)] * COLORS)
        meant = [(n % 2 == 0) == self.even for n in counts]
        moved = [n for n, asked in zip(counts, meant, strict=True) if asked]
        if not 1 <= len(moved) <= 2 or max(moved) < self.least:
            raise LayoutError("too few or too many colors are meant")
        if not self.moves[0] <= sum(moved) <= self.moves[1] or sum(counts) > MOST_BLOCKS:
            raise LayoutError("too few or too many blocks")
        zones, blocks = zones_for(scene, self.colors(rng, COLORS), counts)
        pairs = [
            (block, zone)
            for zone, of, asked in zip(zones, blocks, meant, strict=True)
            for block in of
            if asked
        ]
        selected = [block for block, _ in pairs]
        roles = {
            "objects": scene.slots_of(selected, MOST_MOVED),
            "targets": padded([zone for _, zone in pairs], MOST_MOVED),
            "active": np.arange(MOST_MOVED) < len(pairs),
            "others": scene.others(selected, MOST_BLOCKS),
            "zones": np.array(zones),
        }
        return scene.layout(len(pairs), **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, targets = (roles[name].clamp(min=0) for name in ("objects", "targets"))
        parts = tuple(InZone(objects[:, k], targets[:, k], SHARE) for k in range(MOST_MOVED))
        kept = NoneInZone(roles["others"], roles["zones"])
        return Keeping(Set(parts, roles["active"]), kept)

    def fields(self, layout: Layout) -> Fields:
        return {"parity": "even" if self.even else "odd"}
