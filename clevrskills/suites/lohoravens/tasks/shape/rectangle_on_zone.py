"""Build a rectangle of blocks on a zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.shapes import RectangleIn
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.shape._figures import FigureScene, ShapeTask
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

ZONE_SIZE_M = (0.24, 0.30)
"""Size of the zone along x and y."""
COUNTS = (8, 10)


@dataclass(kw_only=True, eq=False)
class RectangleOnZone(ShapeTask):
    """Eight or ten blocks beside a large zone."""

    key = "rectangle_on_zone"
    level = "unseen"
    capabilities = ("shape", "reference")
    moves = COUNTS
    sentence = "Build a rectangle with the blocks on a zone"
    predicates = (RectangleIn,)
    slots = block_slots(max(COUNTS), zones=1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots)
        (color,) = self.colors(rng, 1)
        zone = scene.mat(color, ZONE_SIZE_M)
        count = int(rng.roles.choice(COUNTS))
        blocks = [scene.block(each) for each in self.mixed_colors(rng, count, (color,))]
        return scene.layout(0, objects=scene.slots_of(blocks, max(COUNTS)), zone=zone)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"]
        return RectangleIn(objects, roles["zone"], weight=(objects >= 0).sum(-1))

    def fields(self, layout: Layout) -> Fields:
        return {"zone": layout.body("zone").color}
