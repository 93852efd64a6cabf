"""Fruit and the like, with a small flat underside and a gently curved top."""

import numpy as np

from clevrskills.assets.objects.registry import entry
from clevrskills.assets.outlines import Points, ellipse
from clevrskills.assets.solids import Solid, Station, lathe, loft, prism, tube


@entry("apple", density=700)
def apple() -> Solid:
    """Build an apple: broad shoulders, narrow foot, a leaf."""
    fruit = lathe([(16, 0), (24, 5), (34, 22), (40, 38), (39, 50), (33, 59), (21, 64), (10, 65)])
    leaf: Points = [(0, 0), (6, -5), (12, -5), (18, 0), (12, 5), (6, 5)]
    return fruit.decorated(prism(leaf, 1.5).turned("y", 24).moved(19, 0, 64.5).turned("z", -20))


@entry("pear", density=700)
def pear() -> Solid:
    """Build a pear: wide below, slender above."""
    belly = [(18, 0), (32, 8), (38, 22), (37, 36)]
    return lathe([*belly, (30, 52), (25, 66), (23, 76), (19.5, 80), (10, 81)])


@entry("lemon", density=700)
def lemon() -> Solid:
    """Build a lemon: an oval with a tip at either end."""
    lower = [(0.45, 0.0), (0.75, 8.0), (0.95, 18.0), (1.0, 27.0)]
    upper = [(0.95, 36.0), (0.8, 44.0), (0.62, 48.5), (0.32, 49.5)]
    return loft([(_lemon_outline(34 * r), z) for r, z in lower + upper])


def _lemon_outline(radius: float) -> Points:
    half = 1.2 * radius
    return [(x * (1 + 0.25 * abs(x / half) ** 6), y) for x, y in ellipse(half, radius)]


@entry("banana", density=700)
def banana() -> Solid:
    """Build a banana: bent and tapered, lying on its side."""
    angles = np.linspace(-62, 62, 9)
    widths = (12, 24, 38, 46, 48, 46, 38, 24, 10)
    heights = (16, 24, 32, 36, 37, 36, 32, 24, 16)
    stations = []
    for deg, width, height in zip(angles, widths, heights, strict=True):
        x, y = 75 * float(np.sin(np.radians(deg))), -75 * float(np.cos(np.radians(deg)))
        stations.append(Station(x, y, width, height, heading_deg=float(deg)))
    return tube(stations, bevel=6)


@entry("mushroom", density=500)
def mushroom() -> Solid:
    """Build a mushroom: a thick stem under a broad cap."""
    stem, cap = [(22, 0), (17, 8), (16, 28)], [(40, 30), (42, 35), (38, 46), (30, 53)]
    return lathe([*stem, *cap, (20, 57), (10, 58)])
