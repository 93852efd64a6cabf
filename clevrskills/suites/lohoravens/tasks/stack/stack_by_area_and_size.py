"""Blocks: what lies in a quadrant and has a size becomes a tower."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackByAreaAndSize(StackSelection):
    """What lies in a quadrant and has a size becomes a tower."""

    key = "stack_by_area_and_size"
    level = "unseen"
    capabilities = ("color", "size", "spatiality", "commonsense")
    sentence = "Stack the blocks of a size in an area on a zone"
    ways = ("area", "size")
    moves = (3, 4)
    mixed = True
    zones = (2, 3)
