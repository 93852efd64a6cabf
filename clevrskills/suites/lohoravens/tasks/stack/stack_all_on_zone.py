"""Stack all the blocks on a zone."""

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


@dataclass(kw_only=True, eq=False)
class StackAllOnZone(StackWhere):
    """Three to five small blocks become one tower, in any order."""

    key = "stack_all_on_zone"
    level = "seen"
    family = "stack"
    capabilities = ("color",)
    moves = (3, 5)
    anywhere_moves = (2, 4)
    sentence = "Stack all the blocks on a zone"
    predicates = (Tower,)
    slots = block_slots(5, zones=1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        count = int(rng.roles.integers(3, 6))
        zone = self.base(scene, self.colors(rng, 1)[0])
        blocks = [scene.block(color, where=self.around) for color in self.colors(rng, count)]
        return scene.layout(count, **tower_roles(scene, blocks, zone))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return tower(roles)

    def fields(self, layout: Layout) -> Fields:
        return {} if self.anywhere else {"zone": layout.body("base").color}
