"""Blocks of colors in odd numbers go to the zones of their colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.count._parity import ParityToZone


@dataclass(kw_only=True, eq=False)
class OddToZone(ParityToZone):
    """Blocks of colors in odd numbers go to the zones of their colors."""

    key = "odd_to_zone"
    level = "unseen"
    moves = (3, 6)
    sentence = "Move all blocks of a color that occur in odd numbers to the same colored zone"
    even = False
    most = 5
    least = 3
