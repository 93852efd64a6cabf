"""Put a block of a color on a block, in a bowl or on a zone of a color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, OnTop, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import Untouched
from clevrskills.suites.lohoravens.predicates.put_in import InBowl, InZone
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

TARGETS = ("block", "bowl", "zone")


@dataclass(kw_only=True, eq=False)
class PickPlaceColor(RavensTask):
    """One block goes on another one, into a bowl or on a zone; the others stay where they are."""

    key = "pick_place_color"
    level = "primitive"
    family = "primitive"
    capabilities = ("color",)
    moves = (1, 1)
    all_colors = True
    sentence = "Pick up the block of one color and place it on the block, bowl or zone of another"
    predicates = (Keeping, Set, OnTop, InBowl, InZone, Untouched)
    slots = block_slots(3, zones=2, bowls=3)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        counts = {"zone": int(rng.roles.integers(1, 3)), "bowl": int(rng.roles.integers(2, 4))}
        counts["block"] = int(rng.roles.integers(2, 4))
        target = int(rng.roles.integers(len(TARGETS)))
        found = {"zone": [scene.zone(c) for c in self.colors(rng, counts["zone"])]}
        found["bowl"] = [scene.bowl(c) for c in self.colors(rng, counts["bowl"])]
        found["block"] = [scene.block(c).slot for c in self.colors(rng, counts["block"])]
        picked = scene.blocks[0]
        onto = found[TARGETS[target]][-1]  # never the picked block
        roles = {
            "object": picked.slot,
            "onto": [onto if k == target else found[kind][-1] for k, kind in enumerate(TARGETS)],
            "active": np.arange(len(TARGETS)) == target,
            "others": scene.others([picked], 2),
        }
        return scene.layout(1, **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        body, onto = roles["object"], roles["onto"]
        parts = (
            OnTop(body, onto[:, 0]),
            InBowl(body, onto[:, 1:2]),
            InZone(body, onto[:, 2]),
        )
        return Keeping(Set(parts, roles["active"]), Untouched(roles["others"]))

    def fields(self, layout: Layout) -> Fields:
        thing = layout.body("object")
        target = layout.bodies[int(layout.roles["onto"][layout.roles["active"]][0])]
        assert target is not None
        return {"thing": thing.name, "target": target.name}
