"""Stack the blocks of each color on the zone of that color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.stack._anywhere import StackWhere
from clevrskills.suites.lohoravens.tasks.stack._towers import tower, tower_roles
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_COLORS = 3


@dataclass(kw_only=True, eq=False)
class StackSameColor(StackWhere):
    """Two or three towers, each of one color on the zone of that color; a further zone and blocks
    of further colors may lie about, which stay out of the zones.
    """

    key = "stack_same_color"
    level = "seen"
    family = "stack"
    capabilities = ("color", "reference")
    moves = (4, 9)
    anywhere_moves = (2, 6)
    sentence = "Stack the blocks of each color on the zone of that color"
    predicates = (Keeping, Set, Tower, NoneInZone)
    slots = block_slots(11, zones=4)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        count = int(rng.roles.integers(2, MOST_COLORS + 1))
        number = int(rng.roles.integers(2 * count, 3 * count + 1))
        strangers, spare = (int(rng.roles.integers(n)) for n in (3, 2))
        if self.anywhere:  # each color that is there is meant
            strangers = spare = 0
        colors = self.colors(rng, count + min(strangers, 1) + spare)
        named, rest = colors[:count], colors[count:]
        zones = [self.base(scene, color) for color in named]
        blocks = [scene.block(named[k % count], where=self.around) for k in range(number)]
        if spare:
            zones.append(scene.zone(rest.pop()))
        others = [scene.block(rest[0]) for _ in range(strangers)]
        towers = [
            tower_roles(scene, [b for b in blocks if b.color == color], zone)
            for color, zone in zip(named, zones, strict=False)
        ]
        towers += [tower_roles(scene, (), zones[0])] * (MOST_COLORS - count)
        roles = {name: [each[name] for each in towers] for name in towers[0]}
        kept = {"active": np.arange(MOST_COLORS) < count, "others": scene.slots_of(others, 2)}
        all_zones = np.full(4, -1)
        all_zones[: len(zones)] = zones
        if number < 4:
            raise LayoutError("too few blocks")
        return scene.layout(number, **roles, **kept, zones=all_zones)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        towers = tuple(tower(roles, k) for k in range(MOST_COLORS))
        return Keeping(Set(towers, roles["active"]), NoneInZone(roles["others"], roles["zones"]))
