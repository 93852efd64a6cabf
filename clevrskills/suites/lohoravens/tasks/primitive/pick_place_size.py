"""Put a block of a size and color on another one of a size and color."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Keeping, OnTop, Predicate
from clevrskills.suites.lohoravens.predicates.constraints import Untouched
from clevrskills.suites.lohoravens.scene import BIG_M, MIXED_GAP_M, SMALL_M, FieldScene, size_word
from clevrskills.suites.lohoravens.tasks.base import RavensTask, block_slots
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class PickPlaceSize(RavensTask):
    """One block goes on another one; each color comes in both sizes, so that size tells."""

    key = "pick_place_size"
    level = "primitive"
    family = "primitive"
    capabilities = ("color", "size")
    moves = (1, 1)
    all_colors = True
    sentence = "Pick up the block of one size and color and place it on that of another"
    predicates = (Keeping, OnTop, Untouched)
    slots = block_slots(6)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots, MIXED_GAP_M)
        for color in self.colors(rng, int(rng.roles.integers(2, 4))):
            for side_m in (BIG_M, SMALL_M):
                scene.block(color, side_m)
        one, other = rng.roles.permutation(len(scene.blocks))[:2]
        top, bottom = scene.blocks[one], scene.blocks[other]
        roles = {"object": top.slot, "onto": bottom.slot, "others": scene.others([top], 5)}
        return scene.layout(1, **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(OnTop(roles["object"], roles["onto"]), Untouched(roles["others"]))

    def fields(self, layout: Layout) -> Fields:
        said = {}
        for name, role in (("thing", "object"), ("target", "onto")):
            body = layout.body(role)
            assert body.size is not None
            said[name] = f"{size_word(body.size[0])} {body.name}"
        return said
