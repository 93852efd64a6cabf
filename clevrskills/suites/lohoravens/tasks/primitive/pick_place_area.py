"""Put a block of one area into another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Keeping, Predicate
from clevrskills.suites.lohoravens.predicates.constraints import Untouched
from clevrskills.suites.lohoravens.predicates.put_in import InArea
from clevrskills.suites.lohoravens.scene import QUADRANTS, FieldScene, within
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.things import AREAS, area_bounds_m
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

CENTER = "center"


@dataclass(kw_only=True, eq=False)
class PickPlaceArea(RavensTask):
    """One block goes to another quadrant of the field, or to its center."""

    key = "pick_place_area"
    level = "primitive"
    family = "primitive"
    capabilities = ("color", "spatiality")
    moves = (1, 1)
    all_colors = True
    sentence = "Pick up the block in one area and place it in another"
    predicates = (Keeping, InArea, Untouched)
    slots = block_slots(3, bowls=3)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        source = int(rng.roles.integers(len(QUADRANTS)))
        target = (source + 1 + int(rng.roles.integers(len(AREAS) - 1))) % len(AREAS)
        low, high = area_bounds_m(AREAS[target])
        if AREAS[target] == CENTER:
            scene.keep_free((low + high) / 2, (high - low).min() / 2)
        for color in self.colors(rng, int(rng.roles.integers(2, 4))):
            scene.bowl(color)
        color, *others = self.colors(rng, int(rng.roles.integers(2, 4)))
        picked = scene.block(color, where=within(QUADRANTS[source]))
        for other in others:
            scene.block(other)
        roles = {"object": picked.slot, "low": low, "high": high}
        kept = {"others": scene.others([picked], 2), "source": source, "target": target}
        return scene.layout(1, **roles, **kept)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        there = InArea(roles["object"], roles["low"], roles["high"])
        return Keeping(there, Untouched(roles["others"]))

    def fields(self, layout: Layout) -> Fields:
        source, target = (AREAS[int(layout.roles[name])] for name in ("source", "target"))
        return {"thing": layout.body("object").name, "source": source, "target": target}
