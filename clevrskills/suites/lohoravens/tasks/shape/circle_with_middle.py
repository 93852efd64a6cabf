"""Arrange blocks in a circle with another one in the middle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.predicates.shapes import InMiddle, OnCircle
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.shape._figures import FigureScene, ShapeTask
from clevrskills.suites.lohoravens.tasks.shape.concentric_circles import middles, radii
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST, MOST = 6, 8
RADII_M = (0.09, 0.16)


@dataclass(kw_only=True, eq=False)
class CircleWithMiddle(ShapeTask):
    """Six to eight blocks of one color around one of another color."""

    key = "circle_with_middle"
    level = "seen"
    capabilities = ("shape", "spatiality", "reference")
    moves = (5, MOST + 2)
    sentence = "Arrange blocks in a circle with a block of another color in the middle"
    predicates = (Set, OnCircle, InMiddle)
    slots = block_slots(MOST + 1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots)
        around, inside = self.colors(rng, 2)
        middle = scene.block(inside)
        blocks = [scene.block(around) for _ in range(int(rng.roles.integers(FEWEST, MOST + 1)))]
        return scene.layout(0, middle=middle.slot, objects=scene.slots_of(blocks, MOST))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, middle = roles["objects"], roles["middle"]
        bounds = radii(objects, RADII_M)
        circle = OnCircle(objects, *bounds, middles(objects), weight=(objects >= 0).sum(-1))
        return Set((circle, InMiddle(middle, objects, *bounds)))

    def fields(self, layout: Layout) -> Fields:
        body = layout.bodies[int(layout.roles["objects"][0])]
        assert body is not None
        return {"around": body.color, "middle": layout.body("middle").color}
