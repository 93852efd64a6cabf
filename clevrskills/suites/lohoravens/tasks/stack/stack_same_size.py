"""Stack the bigger blocks on a zone and the smaller ones on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import BIG_M, MIXED_GAP_M, SMALL_M, FieldScene
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.stack._anywhere import StackWhere
from clevrskills.suites.lohoravens.tasks.stack._towers import tower, tower_roles
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

FEWEST = 5
"""Blocks of both sizes, at least."""


@dataclass(kw_only=True, eq=False)
class StackSameSize(StackWhere):
    """Two to four big and as many small blocks become two towers."""

    key = "stack_same_size"
    level = "seen"
    family = "stack"
    capabilities = ("color", "size")
    moves = (FEWEST, 8)
    anywhere_moves = (3, 6)
    sentence = "Stack the bigger blocks on one zone and the smaller blocks on another"
    predicates = (Set, Tower)
    slots = block_slots(8, zones=2)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots, MIXED_GAP_M)
        counts = rng.roles.integers(2, 5, 2).tolist()
        if sum(counts) < FEWEST:
            raise LayoutError("too few blocks")
        zones = [self.base(scene, color) for color in self.colors(rng, 2)]
        pool = self.colors(rng, 4)
        towers = []
        for zone, side_m, count in zip(zones, (BIG_M, SMALL_M), counts, strict=True):
            colors = rng.textures.choice(pool, count).tolist()
            blocks = [scene.block(color, side_m, self.around) for color in colors]
            towers.append(tower_roles(scene, blocks, zone))
        roles = {name: [each[name] for each in towers] for name in towers[0]}
        return scene.layout(sum(counts), **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Set((tower(roles, 0), tower(roles, 1)))

    def fields(self, layout: Layout) -> Fields:
        if self.anywhere:
            return {}
        one, two = (layout.bodies[slot] for slot in layout.roles["base"].tolist())
        assert one is not None and two is not None
        return {"one": one.color, "two": two.color}
