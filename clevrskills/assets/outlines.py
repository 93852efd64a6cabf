"""Outlines of flat shapes and letters from above, in millimeters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clevrskills.assets.tables import read_toml

Corner = tuple[float, float]
Points = Sequence[Corner]


@dataclass(frozen=True)
class Outline:
    """Polygon with holes."""

    outer: Points  # corners of the boundary, counter-clockwise, millimeters
    holes: tuple[Points, ...] = ()  # corners of each hole in either direction


def arc(
    radius: float, start_deg: float, end_deg: float, n: int, x: float = 0.0, y: float = 0.0
) -> list[Corner]:
    """Return `n` points on a circle about (x, y), both ends included."""
    angles = np.radians(np.linspace(start_deg, end_deg, n))
    return [(x + radius * float(np.cos(a)), y + radius * float(np.sin(a))) for a in angles]


def circle(
    radius: float, n: int = 32, x: float = 0.0, y: float = 0.0, start_deg: float = 0.0
) -> list[Corner]:
    """Return a regular n-gon about (x, y) whose first corner is at `start_deg`."""
    return arc(radius, start_deg, start_deg + 360.0, n + 1, x, y)[:-1]


def ellipse(half_width: float, half_depth: float, n: int = 32) -> list[Corner]:
    """Return an ellipse about the origin."""
    return [(half_width * x, half_depth * y) for x, y in circle(1.0, n)]


def rectangle(width: float, depth: float, x: float = 0.0, y: float = 0.0) -> list[Corner]:
    """Return a rectangle about (x, y)."""
    a, b = width / 2, depth / 2
    return [(x - a, y - b), (x + a, y - b), (x + a, y + b), (x - a, y + b)]


def rounded_rectangle(
    width: float, depth: float, radius: float, n: int = 4, x: float = 0.0, y: float = 0.0
) -> list[Corner]:
    """Return a rectangle about (x, y) with corners rounded by `n` points each."""
    a, b = width / 2 - radius, depth / 2 - radius
    corners = ((a, b, 0.0), (-a, b, 90.0), (-a, -b, 180.0), (a, -b, 270.0))
    return [p for cx, cy, deg in corners for p in arc(radius, deg, deg + 90, n, x + cx, y + cy)]


def star(radius: float, inner: float = 0.5, tips: int = 5) -> list[Corner]:
    """Return a star with a tip at +y; `inner` is the inner radius over the outer one."""
    angles = np.radians(90 + np.arange(2 * tips) * 180 / tips)
    radii = radius * np.where(np.arange(2 * tips) % 2, inner, 1.0)
    return [
        (float(r * np.cos(a)), float(r * np.sin(a))) for r, a in zip(radii, angles, strict=True)
    ]


def plus(width: float, arm: float) -> list[Corner]:
    """Return a plus sign of the given width and arm width."""
    w, a = width / 2, arm / 2
    right, top = [(w, -a), (w, a), (a, a)], [(a, w), (-a, w), (-a, a)]
    return right + top + [(-x, -y) for x, y in right + top]


def heart(width: float) -> list[Corner]:
    """Return a heart with its tip at -y."""
    r = width / 4.0
    right = arc(r * 1.05, -35, 140, 9, r * 0.95, 0)
    left = [(-x, y) for x, y in reversed(right)]
    return [(0.0, -2.25 * r), *right[:-1], (0.0, right[-1][1]), *left[1:]]


def flower(radius: float, petals: int) -> list[Corner]:
    """Return touching petals around a center."""
    half = 180 / petals
    ring = radius / (1 + np.sin(np.radians(half)))
    petal = radius - ring
    points: list[Corner] = []
    for k in range(petals):
        deg = 90 + 2 * half * k
        x, y = ring * np.cos(np.radians(deg)), ring * np.sin(np.radians(deg))
        points += arc(petal, deg - 80, deg + 80, 6, float(x), float(y))
    return points


def crescent(radius: float, bite: float, shift: float) -> list[Corner]:
    """Return a disk of `radius` minus a disk of radius `bite` about (shift, 0)."""
    x = (radius**2 - bite**2 + shift**2) / (2 * shift)
    y = float(np.sqrt(radius**2 - x**2))
    outer_deg = float(np.degrees(np.arctan2(y, x)))
    inner_deg = float(np.degrees(np.arctan2(y, x - shift)))
    outer = arc(radius, outer_deg, 360 - outer_deg, 20)
    inner = arc(bite, 360 - inner_deg, inner_deg, 9, shift)
    return outer + inner[1:-1]


def clover(width: float, lobe: float) -> list[Corner]:
    """Return four round leaves of radius `lobe` in the corners of a square of the given width."""
    at = width / 2 - lobe
    reach_deg = float(np.degrees(np.arccos(at / lobe)))
    leaf = arc(lobe, reach_deg - 90, 180 - reach_deg, 14, at, at)
    x, y = np.array(leaf[:-1]).T
    turned = ((x, y), (-y, x), (-x, -y), (y, -x))
    return [(float(a), float(b)) for xs, ys in turned for a, b in zip(xs, ys, strict=True)]


def raindrop(width: float, radius: float) -> list[Corner]:
    """Return a drop in a square, its tip in the upper right corner."""
    at, tip = radius - width / 2, width / 2
    open_deg = float(np.degrees(np.arccos(radius / ((tip - at) * np.sqrt(2)))))
    return [(tip, tip), *arc(radius, 45 + open_deg, 405 - open_deg, 15, at, at)]


def crown(width: float, notch: float, spread: float) -> list[Corner]:
    """Return a crown with three tips and notches at (±`spread`, `notch`)."""
    a = width / 2
    return [(-a, -a), (a, -a), (a, a), (spread, notch), (0.0, a), (-spread, notch), (-a, a)]


def candy(width: float, radius: float) -> list[Corner]:
    """Return a disk with wings in the lower left and upper right corner of a square."""
    a, half_deg = width / 2, 22.0
    side = arc(radius, 45 + half_deg, 225 - half_deg, 8)
    wing = [(-a, -0.42 * a), (-0.75 * a, -0.75 * a), (-0.42 * a, -a)]
    half = [*side, *wing]
    return [*half, *((-x, -y) for x, y in half)]


def leaf(length: float, width: float, n: int = 9) -> list[Corner]:
    """Return a lens of two arcs with tips at the lower left and upper right."""
    half_angle_deg = 2 * float(np.degrees(np.arctan(width / length)))
    radius = length / 2 / float(np.sin(np.radians(half_angle_deg)))
    shift = radius - width / 2
    side = arc(radius, -90 - half_angle_deg, -90 + half_angle_deg, n, 0.0, shift)[:-1]
    both = np.array([*side, *((-x, -y) for x, y in side)]) / np.sqrt(2)
    return [(float(x - y), float(x + y)) for x, y in both]


LETTERS: dict[str, list[list[Corner]]] = read_toml(Path(__file__).with_name("letters.toml"))


def letter(character: str) -> Outline:
    """Return a block letter, about 90 mm high."""
    outer, *holes = ([(10.0 * x, 10.0 * y) for x, y in loop] for loop in LETTERS[character])
    return Outline(outer, tuple(holes))
