"""Colors of blocks, bowls and zones: splits, categories, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import dist

import numpy as np

from clevrskills.assets.palettes import PALETTES
from clevrskills.assets.palettes import lab as lab_of
from clevrskills.tasks.layout import EpisodeRng, LayoutError

NAMESPACE = "ravens"
ALL_COLORS = tuple(PALETTES[NAMESPACE])
"""Colors of the palette, in the order of the original."""
_TRAIN = ("blue", "red", "green", "yellow", "brown", "gray", "cyan", "indigo", "violet", "black")
_TEST = ("blue", "red", "green", "orange", "purple", "pink", "white", "violet", "gold", "black")
COLORS_OF_SPLIT: Mapping[str, Sequence[str]] = {"train": _TRAIN, "val": _TEST, "test": _TEST}
CATEGORIES: Mapping[str, Sequence[str]] = {
    "cool": ("blue", "green", "cyan", "purple", "gray", "indigo", "violet"),
    "warm": ("red", "yellow", "orange", "brown", "pink", "gold"),
    "primary": ("red", "yellow", "blue"),
    "secondary": ("orange", "green", "purple"),
}
"""Colors of each category; white, black and silver have none."""
APART = 25.0
"""Least distance of two colors of an episode in CIELAB."""


@cache
def lab(color: str) -> tuple[float, float, float]:
    """Return a color in CIELAB (D65)."""
    return lab_of(np.array(PALETTES[NAMESPACE][color]))


def look_apart(one: str, other: str) -> bool:
    """Return whether two colors are easy to tell apart."""
    return dist(lab(one), lab(other)) >= APART


def all_apart(
    rng: EpisodeRng, pool: Sequence[str], apart_from: Sequence[str] = (), least: int = 0
) -> list[str]:
    """Return colors of a pool, in random order, that look apart from each other and from others, as
    many as possible.

    Raises:
        LayoutError: There are fewer than ``least``.
    """
    found: list[str] = []
    for color in rng.textures.permutation(list(pool)).tolist():
        if all(look_apart(color, other) for other in (*found, *apart_from)):
            found.append(color)
    if len(found) < least:
        raise LayoutError(f"no {least} colors that look apart")
    return found


def mixture(rng: EpisodeRng, pool: Sequence[str], count: int) -> list[str]:
    """Return colors of some blocks out of a pool.

    All counts of the colors are equally likely, so that the mixture cannot be guessed.

    Raises:
        LayoutError: The pool has fewer than three colors.
    """
    if len(pool) < 3:
        raise LayoutError("too few colors")
    last = count + len(pool) - 1
    borders = np.sort(rng.textures.choice(last, len(pool) - 1, replace=False))
    counts = np.diff([-1, *borders.tolist(), last]) - 1
    found: list[str] = rng.textures.permutation(np.repeat(list(pool), counts)).tolist()
    return found
