"""The big or the small blocks of a quadrant go to another one."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.move._between_areas import MoveBetweenAreas


@dataclass(kw_only=True, eq=False)
class MoveAreaBySize(MoveBetweenAreas):
    """The big or the small blocks of a quadrant go to another one."""

    key = "move_area_by_size"
    level = "seen"
    capabilities = ("size", "spatiality")
    sentence = "Move all the blocks of a size in one area to another"
    by_size = True
