"""The blocks of one or two categories of colors in a quadrant go to another one."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.move._between_areas import MoveBetweenAreas


@dataclass(kw_only=True, eq=False)
class MoveAreaByColor(MoveBetweenAreas):
    """The blocks of one or two categories of colors in a quadrant go to another one."""

    key = "move_area_by_color"
    level = "seen"
    capabilities = ("color", "spatiality", "commonsense")
    sentence = "Move all the blocks of a category of colors in one area to another"
    by_color = True
    most_categories = 2
