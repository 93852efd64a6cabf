"""Shapes from above: heights, positions where a suction cup seals, rotational symmetry."""

from functools import lru_cache

import numpy as np
from scipy import ndimage

from clevrskills.assets.shapes import Shape

CUP_RADIUS_M = 0.0142
_SPACING_M = 0.002
_RIM_POINTS = 16
_TOLERANCE_M = 0.0015
_PLACES_AT_ONCE = 512


def heights(shape: Shape, xy: np.ndarray) -> np.ndarray:
    """Return the height (n,) in meters of the top of the collision parts at positions (n, 2) in the
    frame of the shape; -inf beside the shape and in its holes.
    """
    top = np.full(len(xy), -np.inf)
    for planes in shape.planes:
        normal_z = planes[:, 2]
        room = planes[:, 3] - xy @ planes[:, :2].T  # (n, m): bound of nz * z
        up, down = normal_z > 1e-6, normal_z < -1e-6
        inside = (room[:, ~(up | down)] >= -1e-9).all(axis=1)
        upper = (room[:, up] / normal_z[up]).min(axis=1)
        lower = (room[:, down] / normal_z[down]).max(axis=1)
        top = np.maximum(top, np.where(inside & (upper >= lower), upper, -np.inf))
    return top


@lru_cache(maxsize=256)
def sealable_places(shape: Shape) -> np.ndarray:
    """Return read-only positions (n, 3), 2 mm apart, where a suction cup seals on an upright shape
    from above; those nearest to the center of mass first.
    """
    places = _sealable(shape, _grid(shape))
    places.flags.writeable = False
    return places


def best_place(shape: Shape) -> np.ndarray | None:
    """Return the first of :func:`sealable_places`, (3,), without computing the others; ``None`` if
    there are none.
    """
    xy, end = _grid(shape), 0
    while end < len(xy):
        start, end = end, end * 8 + 8
        places = _sealable(shape, xy[start:end])
        if len(places):
            found: np.ndarray = places[0]
            return found
    return None


def _grid(shape: Shape) -> np.ndarray:
    """Return a grid of positions (n, 2) on a shape, nearest to the center of mass first."""
    half_x, half_y, _ = shape.half_extents
    center = shape.center_of_mass[:2]
    x, y = (
        np.concatenate([np.arange(c, h, _SPACING_M), np.arange(c, -h, -_SPACING_M)[1:]])
        for c, h in zip(center, (half_x, half_y), strict=True)
    )
    xy = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return xy[np.argsort(np.linalg.norm(xy - center, axis=1), kind="stable")]


def _sealable(shape: Shape, xy: np.ndarray) -> np.ndarray:
    """Return the points (n, 3) on a shape at those positions (m, 2) where a cup seals."""
    middle = heights(shape, xy)
    good = np.isfinite(middle)
    angles = np.arange(_RIM_POINTS) * 2 * np.pi / _RIM_POINTS
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rims = np.concatenate([CUP_RADIUS_M * circle, CUP_RADIUS_M / 2 * circle])
    at_once = max(1, _PLACES_AT_ONCE // len(xy))
    for first in range(0, len(rims), at_once):
        places, around = xy[good], rims[first : first + at_once]
        rim = heights(shape, (places[:, None] + around).reshape(-1, 2)).reshape(-1, len(around))
        good[good] = (np.abs(rim - middle[good, None]) <= _TOLERANCE_M).all(axis=1)
    return np.column_stack([xy, middle])[good]


@lru_cache(maxsize=128)
def rim_radius_m(shape: Shape) -> float:
    """Return the radius at which the top of a shape rises, like the rim of a tray; inf if never."""
    angles = np.arange(4 * _RIM_POINTS) * np.pi / (2 * _RIM_POINTS)
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    (middle,) = heights(shape, np.zeros((1, 2)))
    for radius in np.arange(_SPACING_M, shape.radius_m, _SPACING_M):
        if (heights(shape, radius * around) > middle + _SPACING_M).any():
            return float(radius - _SPACING_M)
    return float("inf")


ALIKE_SHARE, TIE_SHARE = 0.02, 0.005
"""Share of the area below which two outlines look alike, and two orders fit equally well."""
TURNS_DEG = np.arange(30, 331, 5)
"""Tested rotations; smaller ones hardly change any outline."""
ORDERS = (2, 3, 4, 5, 6, 8)


@lru_cache(maxsize=512)
def change_of_outline(shape: Shape) -> np.ndarray:
    """Return the read-only visible change (n,) of the outline of a shape after rotations by
    :data:`TURNS_DEG` about its center.

    It is the share of the rotated outline's area that is farther than 2 mm, about half a pixel of
    the base camera, from the original outline. Textures are ignored.
    """
    corners = np.concatenate(shape.parts)[:, :2]
    radius = float(np.linalg.norm(corners, axis=1).max()) + 2 * _SPACING_M
    cells = int(np.ceil(radius / _SPACING_M))
    ticks = np.arange(-cells, cells + 1) * _SPACING_M
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = np.isfinite(heights(shape, grid)).reshape(len(ticks), len(ticks))
    points, near = grid[inside.ravel()], ndimage.binary_dilation(inside)
    middle = points.mean(axis=0)
    angle = np.radians(TURNS_DEG)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1)
    turned = middle + (points - middle) @ turn.reshape(-1, 2, 2).transpose(0, 2, 1)
    cell = np.round((turned - ticks[0]) / _SPACING_M).astype(int)  # (n, points, 2)
    on_grid = ((cell >= 0) & (cell < len(ticks))).all(axis=-1)
    cell = np.clip(cell, 0, len(ticks) - 1)
    change = 1.0 - (near[cell[..., 0], cell[..., 1]] & on_grid).mean(axis=1)
    change.flags.writeable = False
    return change


@lru_cache(maxsize=512)
def outline_symmetry(shape: Shape) -> int:
    """Return the order of the visible symmetry of an outline: 1 none, 4 square, 0 round."""
    change = change_of_outline(shape)
    if change.max() <= ALIKE_SHARE:
        return 0
    if change.min() > ALIKE_SHARE:
        return 1
    least = [float(np.interp(360 / order, TURNS_DEG, change)) for order in ORDERS]
    return max(n for n, c in zip(ORDERS, least, strict=True) if c <= min(least) + TIE_SHARE)
