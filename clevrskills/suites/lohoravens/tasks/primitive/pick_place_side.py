"""Put a block beside another one, on a side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate
from clevrskills.suites.lohoravens.predicates.constraints import Untouched
from clevrskills.suites.lohoravens.predicates.put_in import InArea
from clevrskills.suites.lohoravens.scene import INNER, SIDES, FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

BESIDE_M, TOLERANCE_M = 0.16, 0.04
"""How far beside it the place is, and how far from that the block may be along x and y."""
FREE_M = 0.04
"""What is kept free around the place."""


@dataclass(kw_only=True, eq=False)
class PickPlaceSide(RavensTask):
    """One block goes 16 cm to the left or right of another one, or towards the top or bottom."""

    key = "pick_place_side"
    level = "primitive"
    family = "primitive"
    capabilities = ("color", "spatiality")
    moves = (1, 1)
    all_colors = True
    sentence = "Pick up a block and place it on one side of another"
    predicates = (Keeping, InArea, Untouched)
    slots = block_slots(3, bowls=3)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        side = int(rng.roles.integers(len(SIDES)))
        color, *colors = self.colors(rng, int(rng.roles.integers(2, 4)))
        other = scene.block(color)
        place = np.array(other.place_m) + BESIDE_M * np.array(tuple(SIDES.values())[side])
        limits = np.array((INNER.x_m, INNER.y_m))
        if (place < limits[:, 0]).any() or (place > limits[:, 1]).any():
            raise LayoutError("the place is outside the field")
        if not INNER.contains(*place):
            raise LayoutError("the place is out of reach")
        scene.keep_free(place, FREE_M)
        picked, *_ = [scene.block(color) for color in colors]
        for color in self.colors(rng, int(rng.roles.integers(2, 4))):
            scene.bowl(color)
        roles = {"object": picked.slot, "other": other.slot, "side": side}
        bounds = {"low": place - TOLERANCE_M, "high": place + TOLERANCE_M}
        return scene.layout(1, **roles, **bounds, others=scene.others([picked], 2))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        there = InArea(roles["object"], roles["low"], roles["high"])
        return Keeping(there, Untouched(roles["others"]))

    def fields(self, layout: Layout) -> Fields:
        side = tuple(SIDES)[int(layout.roles["side"])]
        thing, other = (layout.body(role).name for role in ("object", "other"))
        return {"thing": thing, "other": other, "side": side}
