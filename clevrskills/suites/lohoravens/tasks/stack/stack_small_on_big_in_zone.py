"""Stack the blocks of each color in the zone of the same color, the bigger one below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import MIXED_GAP_M, FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.stack._pairs import pairs
from clevrskills.suites.lohoravens.tasks.stack._towers import tower, tower_roles
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST, MOST = 2, 4


@dataclass(kw_only=True, eq=False)
class StackSmallOnBigInZone(RavensTask):
    """Two to four colors with a big block, a small block and a zone each: both become a tower in
    the zone, the small one on top.
    """

    key = "stack_small_on_big_in_zone"
    level = "unseen"
    family = "stack"
    capabilities = ("color", "size")
    moves = (2 * FEWEST, 2 * MOST)
    sentence = "Stack the blocks of each color in the zone of the same color, the bigger below"
    predicates = (Set, Tower)
    slots = block_slots(2 * MOST, zones=MOST)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots, MIXED_GAP_M)
        count = int(rng.roles.integers(FEWEST, MOST + 1))
        colors = self.colors(rng, count)
        zones = [scene.zone(color, tower=True) for color in colors]
        towers = [
            tower_roles(scene, (pair.big, pair.small), zone, big_below=True)
            for pair, zone in zip(pairs(scene, colors), zones, strict=True)
        ]
        towers += [tower_roles(scene, (), zones[0])] * (MOST - count)
        roles = {name: [each[name] for each in towers] for name in towers[0]}
        return scene.layout(2 * count, **roles, active=np.arange(MOST) < count)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Set(tuple(tower(roles, k) for k in range(MOST)), roles["active"])
