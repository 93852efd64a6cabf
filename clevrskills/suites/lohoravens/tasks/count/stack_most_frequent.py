"""Blocks of the most frequent color become a tower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Keeping, Predicate
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.count._colors import deal, draw_counts
from clevrskills.suites.lohoravens.tasks.stack._towers import tower, tower_roles
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

COUNTS = ((4, 5), (2, 3), (1, 2))
"""Ranges of how many blocks each color has, the most frequent first."""
MOST_OTHERS = 5


@dataclass(kw_only=True, eq=False)
class StackMostFrequent(RavensTask):
    """Of three colors, the blocks of the most frequent one become a tower on one of two zones; no
    other block is put there.
    """

    key = "stack_most_frequent"
    level = "unseen"
    family = "count"
    capabilities = ("color", "reference", "arithmetic")
    moves = (4, 5)
    sentence = "Stack the blocks of the most frequent color on a zone"
    predicates = (Keeping, Tower, NoneInZone)
    slots = block_slots(10, zones=2)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        counts = draw_counts(rng, COUNTS)
        base, _ = (scene.zone(color, tower=True) for color in self.colors(rng, 2))
        selected, *_ = deal(scene, self.colors(rng, len(counts)), counts)
        roles = tower_roles(scene, selected, base)
        return scene.layout(counts[0], **roles, others=scene.others(selected, MOST_OTHERS))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(tower(roles), NoneInZone(roles["others"], roles["base"][:, None]))

    def fields(self, layout: Layout) -> Fields:
        return {"zone": layout.body("base").color}
