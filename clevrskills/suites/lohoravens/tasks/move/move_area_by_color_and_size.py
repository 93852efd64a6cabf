"""The blocks of a size and a category of colors in a quadrant go to another one."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.move._between_areas import MoveBetweenAreas


@dataclass(kw_only=True, eq=False)
class MoveAreaByColorAndSize(MoveBetweenAreas):
    """The blocks of a size and a category of colors in a quadrant go to another one."""

    key = "move_area_by_color_and_size"
    level = "unseen"
    capabilities = ("color", "size", "spatiality", "commonsense")
    sentence = "Move all the blocks of a size and a category of colors in one area to another"
    by_size = True
    by_color = True
