"""Stack all the blocks in an area."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.tower import TowerInArea
from clevrskills.suites.lohoravens.scene import QUADRANTS, FieldScene, within
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.stack._towers import ROLES, tower_roles
from clevrskills.suites.lohoravens.things import area_bounds_m
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST, MOST = 3, 5


@dataclass(kw_only=True, eq=False)
class StackAllInArea(RavensTask):
    """Three to five small blocks outside a quadrant become one tower in it, in any order."""

    key = "stack_all_in_area"
    level = "workshop"
    family = "stack"
    capabilities = ("spatiality",)
    moves = (FEWEST, MOST)
    sentence = "Stack all the blocks in an area"
    predicates = (TowerInArea,)
    slots = block_slots(MOST)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        target, count = int(rng.roles.integers(4)), int(rng.roles.integers(FEWEST, MOST + 1))
        colors = self.colors(rng, count)
        others = [area for area in QUADRANTS if area != QUADRANTS[target]]
        blocks = [
            scene.block(color, where=within(others[int(rng.roles.integers(len(others)))]))
            for color in colors
        ]
        low, high = area_bounds_m(QUADRANTS[target])
        roles = {**tower_roles(scene, blocks, -1), "low": low, "high": high}
        return scene.layout(count, **roles, target=target)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        parts = [roles[name] for name in (*ROLES, "low", "high")]
        return TowerInArea(*parts, weight=roles["count"])

    def fields(self, layout: Layout) -> Fields:
        return {"area": QUADRANTS[int(layout.roles["target"])]}
