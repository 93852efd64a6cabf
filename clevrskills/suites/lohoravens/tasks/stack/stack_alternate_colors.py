"""Stack blocks of two colors by turns on a zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.stack._anywhere import StackWhere
from clevrskills.suites.lohoravens.tasks.stack._towers import tower, tower_roles
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

LEVELS = (0, 1, 0, 1, 0)
"""Which of the two colors is at each level."""


@dataclass(kw_only=True, eq=False)
class StackAlternateColors(StackWhere):
    """Three blocks of one color and two of another become a striped tower."""

    key = "stack_alternate_colors"
    level = "unseen"
    family = "stack"
    capabilities = ("color",)
    moves = (5, 5)
    anywhere_moves = (4, 4)
    sentence = "Build a stack on a zone whose colors alternate"
    predicates = (Tower,)
    slots = block_slots(5, zones=1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        zone = self.base(scene, self.colors(rng, 1)[0])
        colors = self.colors(rng, 2)
        blocks = [scene.block(colors[kind], where=self.around) for kind in sorted(LEVELS)]
        return scene.layout(5, **tower_roles(scene, blocks, zone, sorted(LEVELS), LEVELS))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return tower(roles)

    def fields(self, layout: Layout) -> Fields:
        first, second = (layout.bodies[int(layout.roles["objects"][k])] for k in (0, -1))
        assert first is not None and second is not None
        zone = {} if self.anywhere else {"zone": layout.body("base").color}
        return {**zone, "first": first.color, "second": second.color}
