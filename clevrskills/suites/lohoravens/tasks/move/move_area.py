"""All blocks of a quadrant go to another one."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.move._between_areas import MoveBetweenAreas


@dataclass(kw_only=True, eq=False)
class MoveArea(MoveBetweenAreas):
    """All blocks of a quadrant go to another one."""

    key = "move_area"
    level = "seen"
    capabilities = ("spatiality", "color")
    sentence = "Move all the blocks in one area to another"
