"""Colors of blocks, bowls and zones: those of each split, categories, and which look apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import dist

import numpy as np

from clevrskills.assets.palettes import PALETTES
from clevrskills.tasks.layout import EpisodeRng, LayoutError

NAMESPACE = "ravens"
COLORS = tuple(PALETTES[NAMESPACE])[:11]
"""The colors in use, in the order of the original."""
_TRAIN = ("blue", "red", "green", "yellow", "brown", "gray", "cyan")
_TEST = ("blue", "red", "green", "orange", "purple", "pink", "white")
COLORS_OF_SPLIT: Mapping[str, Sequence[str]] = {"train": _TRAIN, "val": _TEST, "test": _TEST}
CATEGORIES: Mapping[str, Sequence[str]] = {
    "cool": ("blue", "green", "cyan", "purple", "gray"),
    "warm": ("red", "yellow", "orange", "brown", "pink"),
    "primary": ("red", "yellow", "blue"),
    "secondary": ("orange", "green", "purple"),
}
"""Colors of each category; white is in none."""
APART = 25.0
"""Least distance of two colors of an episode in CIELAB."""


def texture_of(color: str) -> str:
    """Name of the texture of a color."""
    return f"{NAMESPACE}/{color}"


@cache
def lab(color: str) -> tuple[float, float, float]:
    """A color in CIELAB (D65)."""
    value = np.array(PALETTES[NAMESPACE][color]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def look_apart(one: str, other: str) -> bool:
    """Whether two colors can't be taken for each other."""
    return dist(lab(one), lab(other)) >= APART


def choose_colors(
    rng: EpisodeRng, count: int, pool: Sequence[str], apart_from: Sequence[str] = ()
) -> list[str]:
    """Different colors of a pool that look apart from each other and from some others.

    Raises:
        LayoutError: There are not so many.
    """
    found = all_apart(rng, pool, apart_from)
    if len(found) < count:
        raise LayoutError(f"no {count} colors that look apart")
    return found[:count]


def all_apart(rng: EpisodeRng, pool: Sequence[str], apart_from: Sequence[str] = ()) -> list[str]:
    """Colors of a pool, in a drawn order, that look apart from each other and from some others; no
    further one does.
    """
    found: list[str] = []
    for color in rng.textures.permutation(list(pool)).tolist():
        if all(look_apart(color, other) for other in (*found, *apart_from)):
            found.append(color)
    return found
