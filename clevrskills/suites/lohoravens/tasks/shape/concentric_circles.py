"""Build two circles of blocks with the same middle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.predicates.shapes import Concentric, OnCircle
from clevrskills.suites.lohoravens.setting import FIELD_MIDDLE_M
from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.shape._figures import FigureScene, ShapeTask
from clevrskills.tasks.arguments import switch
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

COUNTS, FEWER = (6, 10), (4, 8)
"""Blocks of the inner and outer circle."""
INNER_RADII_M, OUTER_RADII_M = (0.065, 0.10), (0.13, 0.17)
WORDS = {4: "four", 6: "six", 8: "eight", 10: "ten"}


@dataclass(kw_only=True, eq=False)
class ConcentricCircles(ShapeTask):
    """Blocks of one color form the inner circle, those of another one the outer circle.

    Attributes:
        fewer: Whether there are 4 and 8 blocks instead of 6 and 10.
    """

    key = "concentric_circles"
    level = "unseen"
    capabilities = ("shape", "spatiality", "reference")
    moves = (10, 18)
    sentence = "Build two concentric circles of blocks"
    predicates = (Set, OnCircle, Concentric)
    slots = block_slots(sum(COUNTS))

    fewer: bool = switch()

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots)
        counts = FEWER if self.fewer else COUNTS
        colors = self.colors(rng, 2)
        circles = [[scene.block(c) for _ in range(n)] for c, n in zip(colors, counts, strict=True)]
        roles = {
            name: scene.slots_of(blocks, most)
            for name, blocks, most in zip(("inner", "outer"), circles, COUNTS, strict=True)
        }
        return scene.layout(0, **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        inner, outer = roles["inner"], roles["outer"]
        circles = [
            OnCircle(slots, *radii(slots, radii_m), middles(slots), weight=(slots >= 0).sum(-1))
            for slots, radii_m in ((inner, INNER_RADII_M), (outer, OUTER_RADII_M))
        ]
        return Set((*circles, Concentric(inner, outer, weight=0.0)))

    def fields(self, layout: Layout) -> Fields:
        found = dict[str, str]()
        for name in ("inner", "outer"):
            slots = [int(k) for k in layout.roles[name] if k >= 0]
            body = layout.bodies[slots[0]]
            assert body is not None
            found |= {name: body.color, f"{name}_number": WORDS[len(slots)]}
        return found


def radii(slots: Tensor, radii_m: tuple[float, float]) -> tuple[Tensor, Tensor]:
    """Least and greatest radius of the circle of blocks (B, n), (B,) each."""
    low, high = (torch.full((len(slots),), radius, device=slots.device) for radius in radii_m)
    return low, high


def middles(slots: Tensor) -> Tensor:
    """The middle of the field for blocks (B, n), (B, 2)."""
    return torch.tensor(FIELD_MIDDLE_M, device=slots.device).expand(len(slots), 2)
