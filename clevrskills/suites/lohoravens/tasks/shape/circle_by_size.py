"""Place boxes on a circle in the order of their size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.shapes import OnRing
from clevrskills.suites.lohoravens.scene import MIXED_GAP_M
from clevrskills.suites.lohoravens.tasks.shape._figures import (
    BOX_SIDES_M,
    RING_M,
    FigureScene,
    ShapeTask,
)
from clevrskills.tasks.layout import EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class CircleBySize(ShapeTask):
    """Six boxes of different sizes on a drawn circle, from any place on, counter-clockwise as seen
    from above.
    """

    key = "circle_by_size"
    level = "unseen"
    capabilities = ("color", "size", "spatiality")
    moves = (len(BOX_SIDES_M),) * 2
    sentence = "Place the boxes on the circle so that their size increases counter-clockwise"
    predicates = (OnRing,)
    slots = ("circle_0", *(f"box_{k}" for k in range(len(BOX_SIDES_M))))

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots, MIXED_GAP_M)
        colors = self.mixed_colors(rng, len(BOX_SIDES_M))
        center, rank = (
            scene.circle(self.color_to_draw(rng, colors)),
            rng.roles.permutation(len(BOX_SIDES_M)),
        )
        boxes = [scene.box(colors[k], BOX_SIDES_M[k]) for k in rank.tolist()]
        objects = scene.slots_of(boxes, len(BOX_SIDES_M))
        return scene.layout(0, objects=objects, rank=rank, center=center)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, center = roles["objects"], roles["center"].float()
        radius_m = center.new_full((len(objects),), RING_M)
        total = (objects >= 0).sum(-1)
        return OnRing(objects, center, radius_m, roles["rank"].float(), weight=total)
