"""Align boxes on a line in increasing size."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.shape._figures import BOX_SIDES_M
from clevrskills.suites.lohoravens.tasks.shape._lines import AlignOnLine
from clevrskills.tasks.layout import EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class LineBySize(AlignOnLine):
    """Six boxes of different sizes."""

    key = "line_by_size"
    level = "unseen"
    capabilities = ("color", "size", "spatiality")
    moves = (len(BOX_SIDES_M),) * 2
    sentence = "Align the boxes on a line in increasing size from left to right"
    slots = ("line_0", *(f"box_{k}" for k in range(len(BOX_SIDES_M))))

    def layout(self, rng: EpisodeRng) -> Layout:
        return self.align(rng, self.mixed_colors(rng, len(BOX_SIDES_M)), BOX_SIDES_M)
