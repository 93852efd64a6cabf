"""Put the block hidden under another one into the bowl of its color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.bowls import NoneInBowl
from clevrskills.suites.lohoravens.predicates.put_in import InBowl
from clevrskills.suites.lohoravens.scene import BIG_M, SMALL_M
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.hidden._covered import HiddenBlocks, HiddenScene
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST_BOWLS, MOST_BOWLS = 4, 5


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlock(HiddenBlocks):
    """A big block stands on a small one, which is asked for by its color; another small block of
    that color lies in sight. The big one may go anywhere but into a bowl.
    """

    key = "hidden_under_block"
    level = "seen"
    moves = (2, 2)
    sentence = "Put the block hidden under a block into the bowl of the same color"
    predicates = (Keeping, Set, InBowl, NoneInBowl)
    slots = block_slots(6, bowls=MOST_BOWLS)
    most = 1

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = HiddenScene(rng, self.slots)
        count = int(rng.roles.integers(FEWEST_BOWLS, MOST_BOWLS + 1))
        colors = self.colors_of_blocks(rng, FEWEST_BOWLS)[:count]
        hidden, top = scene.tower(colors[:2], (SMALL_M, BIG_M))
        bowls = [scene.bowl(color) for color in colors]
        for color in (colors[0], *colors[2:]):
            scene.block(color)
        all_bowls = np.full(MOST_BOWLS, -1)
        all_bowls[: len(bowls)] = bowls
        named = {"hidden": hidden.slot, "top": top.slot, "all_bowls": all_bowls}
        return self.hide(scene, 2, [hidden], bowls[:1], **named)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        kept = NoneInBowl(roles["top"][:, None], roles["all_bowls"])
        return Keeping(super().goal(roles), kept)

    def fields(self, layout: Layout) -> Fields:
        return {name: layout.body(name).color for name in ("hidden", "top")}
