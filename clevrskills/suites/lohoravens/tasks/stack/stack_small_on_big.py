"""Stack each smaller block on the bigger block of the same color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Predicate, Set
from clevrskills.suites.lohoravens.scene import BIG_M, MIXED_GAP_M, SMALL_M, FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.suites.lohoravens.tasks.stack._pairs import pairs
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST, MOST, MOST_OTHERS = 4, 5, 2


@dataclass(kw_only=True, eq=False)
class StackSmallOnBig(RavensTask):
    """Four or five colors with a big and a small block each, and blocks of further colors: each
    small one of a pair goes on the big one, wherever that is.
    """

    key = "stack_small_on_big"
    level = "unseen"
    family = "stack"
    capabilities = ("color", "size")
    moves = (FEWEST, MOST)
    sentence = "Stack each smaller block on the bigger block of the same color"
    predicates = (Set, OnTop)
    slots = block_slots(2 * MOST + MOST_OTHERS)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots, MIXED_GAP_M)
        count = int(rng.roles.integers(FEWEST, MOST + 1))
        others = int(rng.roles.integers(MOST_OTHERS + 1))
        colors = self.colors(rng, count + others)
        found = pairs(scene, colors[:count])
        for color in colors[count:]:
            scene.block(color, BIG_M if rng.roles.integers(2) else SMALL_M)
        roles = {
            "objects": scene.slots_of([pair.small for pair in found], MOST),
            "below": scene.slots_of([pair.big for pair in found], MOST),
            "active": np.arange(MOST) < count,
        }
        return scene.layout(count, **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        tops, bottoms = (roles[name].clamp(min=0) for name in ("objects", "below"))
        parts = tuple(OnTop(tops[:, k], bottoms[:, k]) for k in range(MOST))
        return Set(parts, roles["active"])
