"""Blocks: what lies in a quadrant becomes a tower, big ones below small ones."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackByAreaInSizeOrder(StackSelection):
    """What lies in a quadrant becomes a tower, big ones below small ones."""

    key = "stack_by_area_in_size_order"
    level = "seen"
    capabilities = ("color", "size", "spatiality", "commonsense")
    sentence = "Stack the blocks in an area on a zone, big ones below small ones"
    ways = ("area",)
    moves = (3, 4)
    mixed = True
    big_below = True
    zones = (2, 3)
