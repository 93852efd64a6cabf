"""Base of tasks that align boxes on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.shapes import OnLine
from clevrskills.suites.lohoravens.scene import MIXED_GAP_M
from clevrskills.suites.lohoravens.tasks.shape._figures import LINE_M, FigureScene, ShapeTask
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class AlignOnLine(ShapeTask):
    """Boxes in order on a line, from left to right."""

    predicates = (OnLine,)

    def align(self, rng: EpisodeRng, colors: Sequence[str], sides_m: Sequence[float]) -> Layout:
        """Boxes in the order that is asked for, laid out in another one.

        Args:
            rng: The choices of the episode.
            colors: Their colors.
            sides_m: Their sides.
        """
        scene = FigureScene(rng, self.slots, MIXED_GAP_M)
        line = self.color_to_draw(rng, colors)
        middle = scene.line(line)
        count, most = len(colors), len(self.slots) - 1
        rank = np.full(most, -1.0)
        rank[:count] = rng.roles.permutation(count)
        boxes = [scene.box(colors[int(k)], sides_m[int(k)]) for k in rank[:count]]
        objects = scene.slots_of(boxes, most)
        return scene.layout(0, objects=objects, rank=rank, middle=middle, line=0)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, middle = roles["objects"], roles["middle"].float()
        length_m = middle.new_full((len(objects),), LINE_M)
        total = (objects >= 0).sum(-1)
        return OnLine(objects, middle, length_m, roles["rank"].float(), weight=total)

    def fields(self, layout: Layout) -> Fields:
        return {"line": layout.body("line").color}
