"""Blocks of colors in even numbers go to the zones of their colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.count._parity import ParityToZone


@dataclass(kw_only=True, eq=False)
class EvenToZone(ParityToZone):
    """Blocks of colors in even numbers go to the zones of their colors."""

    key = "even_to_zone"
    level = "seen"
    moves = (2, 6)
    sentence = "Move all blocks of a color that occur in even numbers to the same colored zone"
    even = True
    most = 4
    least = 2
