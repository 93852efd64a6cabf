"""Align boxes on a line in rainbow order."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.palette import all_apart
from clevrskills.suites.lohoravens.scene import SMALL_M
from clevrskills.suites.lohoravens.tasks.shape._lines import AlignOnLine
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

RAINBOW = ("red", "orange", "yellow", "green", "cyan", "blue", "purple")
FEWEST = 5


@dataclass(kw_only=True, eq=False)
class LineByColor(AlignOnLine):
    """Five to seven boxes of colors of the rainbow, all of one size."""

    key = "line_by_color"
    level = "seen"
    capabilities = ("color", "spatiality", "commonsense")
    moves = (FEWEST, len(RAINBOW))
    all_colors = True
    sentence = "Align the boxes on a line in rainbow order from left to right"
    slots = ("line_0", *(f"box_{k}" for k in range(len(RAINBOW))))

    def layout(self, rng: EpisodeRng) -> Layout:
        found = all_apart(rng, RAINBOW)
        if len(found) < FEWEST:
            raise LayoutError("too few colors that look apart")
        count = int(rng.roles.integers(FEWEST, len(found) + 1))
        colors = [color for color in RAINBOW if color in found[:count]]
        return self.align(rng, colors, [SMALL_M] * count)
