"""Pairs: a big and a small block of each of some colors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clevrskills.suites.lohoravens.scene import BIG_M, SMALL_M, Block, FieldScene


@dataclass(frozen=True)
class Pair:
    """The two blocks of a color.

    Attributes:
        big: The bigger one.
        small: The smaller one.
    """

    big: Block
    small: Block


def pairs(scene: FieldScene, colors: Sequence[str]) -> list[Pair]:
    """A big and a small block of each color at free places.

    Raises:
        LayoutError: There is no room.
    """
    return [Pair(scene.block(color, BIG_M), scene.block(color, SMALL_M)) for color in colors]
