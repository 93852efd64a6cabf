"""Blocks of some colors in numbers that are to be counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clevrskills.suites.lohoravens.scene import (
    WIDE_ZONE_M,
    WIDEST_ZONE_M,
    Block,
    FieldScene,
)
from clevrskills.tasks.layout import EpisodeRng

MOST_SIDE_BY_SIDE = 4
"""Blocks that a wide zone has room for; for more the widest is taken."""


def zones_for(
    scene: FieldScene, colors: Sequence[str], counts: Sequence[int]
) -> tuple[list[int], list[list[Block]]]:
    """A zone of each color, with room for its blocks, and the blocks; slots of the zones.

    Raises:
        LayoutError: There is no room.
    """
    sides = [WIDE_ZONE_M if n <= MOST_SIDE_BY_SIDE else WIDEST_ZONE_M for n in counts]
    zones = [scene.zone(color, side_m) for color, side_m in zip(colors, sides, strict=True)]
    return zones, deal(scene, colors, counts)


def deal(scene: FieldScene, colors: Sequence[str], counts: Sequence[int]) -> list[list[Block]]:
    """Blocks of each color.

    Raises:
        LayoutError: There is no room.
    """
    return [[scene.block(c) for _ in range(n)] for c, n in zip(colors, counts, strict=True)]


def draw_counts(rng: EpisodeRng, ranges: Sequence[tuple[int, int]]) -> list[int]:
    """A number of each range, both ends included."""
    return [int(rng.roles.integers(low, high + 1)) for low, high in ranges]


def padded(values: Sequence[int], length: int) -> np.ndarray:
    """Values filled up with -1, (length,)."""
    found = np.full(length, -1)
    found[: len(values)] = values
    return found
