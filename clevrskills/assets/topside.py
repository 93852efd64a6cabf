"""What a shape looks like from above: heights, and where a suction cup can seal."""

from functools import lru_cache

import numpy as np

from clevrskills.assets.shapes import Shape

CUP_RADIUS_M = 0.0142
_SPACING_M = 0.002
_RIM_POINTS = 16


def heights(shape: Shape, xy: np.ndarray) -> np.ndarray:
    """Height of the collision parts' upper surface, metres.

    Args:
        shape: The shape.
        xy: (n, 2) places in the shape's frame.

    Returns:
        (n,) z in the shape's frame; -inf beside the shape and in its holes.
    """
    top = np.full(len(xy), -np.inf)
    for planes in shape.planes:
        normal_z = planes[:, 2]
        room = planes[:, 3] - xy @ planes[:, :2].T  # (n, m): what is left for nz * z
        up, down = normal_z > 1e-6, normal_z < -1e-6
        inside = (room[:, ~(up | down)] >= -1e-9).all(axis=1)
        upper = (room[:, up] / normal_z[up]).min(axis=1)
        lower = (room[:, down] / normal_z[down]).max(axis=1)
        top = np.maximum(top, np.where(inside & (upper >= lower), upper, -np.inf))
    return top


@lru_cache(maxsize=256)
def sealable_places(
    shape: Shape, radius_m: float = CUP_RADIUS_M, tolerance_m: float = 0.0015
) -> np.ndarray:
    """Where a cup of a vacuum gripper that comes from above can seal.

    Args:
        shape: The shape, standing upright.
        radius_m: Radius of the cup.
        tolerance_m: By how much the surface under the cup may differ in height from its middle.

    Returns:
        (n, 3) points on the surface in the shape's frame, 2 mm apart; the nearest to the centre of
        mass, seen from above, first. Read-only.
    """
    half_x, half_y, _ = shape.half_extents
    center = shape.center_of_mass[:2]
    x, y = (
        np.concatenate([np.arange(c, h, _SPACING_M), np.arange(c, -h, -_SPACING_M)[1:]])
        for c, h in zip(center, (half_x, half_y), strict=True)
    )
    xy = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    middle = heights(shape, xy)
    good = np.isfinite(middle)
    angles = np.arange(_RIM_POINTS) * 2 * np.pi / _RIM_POINTS
    for radius in (radius_m, radius_m / 2):
        for offset in radius * np.column_stack([np.cos(angles), np.sin(angles)]):
            rim = heights(shape, xy[good] + offset)
            good[good] = np.abs(rim - middle[good]) <= tolerance_m
    places = np.column_stack([xy, middle])[good]
    order = np.argsort(np.linalg.norm(places[:, :2] - center, axis=1), kind="stable")
    places = places[order]
    places.flags.writeable = False
    return places
