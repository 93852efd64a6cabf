"""The map as three cameras beside the field see it: their colors and depths, fused from above."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import ndimage

from clevrskills.sim.cameras import FixedCamera
from clevrskills.suites.lohoravens.setting import FIELD, MAP, PIXEL_M

SIDE_CAMERAS = ("front", "left", "right")
HIGHEST_M = 0.5
"""Above this nothing is fused: it is the arm."""
TABLE_M = 0.002
"""Up to here it is the table; drawn depths are no more exact at its edge."""


def fuse(
    cameras: Mapping[str, FixedCamera],
    colors: Mapping[str, np.ndarray],
    depths_m: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return colors (H, W, 3) uint8 and heights (H, W) float32 in meters of the map. In each cell
    the highest point that is seen counts; where none is, the nearest cell.

    Args:
        cameras: The cameras, by name.
        colors: Their images, (h, w, 3) uint8.
        depths_m: Depths along their axes, (h, w).
    """
    found = [_points(cameras[name], colors[name], depths_m[name]) for name in cameras]
    places, shades = (np.concatenate(part) for part in zip(*found, strict=True))
    assert MAP.width_px is not None
    size = (MAP.size_px, MAP.width_px)
    rows = np.floor((places[:, 0] - FIELD.x_m[0]) / PIXEL_M).astype(int)
    columns = np.floor((places[:, 1] - FIELD.y_m[0]) / PIXEL_M).astype(int)
    inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
    inside &= places[:, 2] < HIGHEST_M
    cells, heights = (rows * size[1] + columns)[inside], places[inside, 2]
    order = np.lexsort((heights, cells))
    last = order[np.append(np.diff(cells[order]) > 0, True)]
    surface = np.full(size[0] * size[1], np.nan, np.float32)
    image = np.zeros((size[0] * size[1], 3), np.uint8)
    surface[cells[last]], image[cells[last]] = heights[last], shades[inside][last]
    return _filled(image.reshape(*size, 3), surface.reshape(size))


def _points(
    camera: FixedCamera, colors: np.ndarray, depth_m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the world points (N, 3) and colors (N, 3) of the pixels of an image."""
    height, width = depth_m.shape
    half = np.tan(camera.fov_rad / 2)
    down, across = np.meshgrid(
        (np.arange(height) + 0.5) / height * 2 - 1,
        ((np.arange(width) + 0.5) / width * 2 - 1) * width / height,
        indexing="ij",
    )
    left, up, forward = camera.axes
    rays = forward + half * (-across[..., None] * left - down[..., None] * up)
    points = np.asarray(camera.eye_m) + rays * depth_m[..., None]
    return points.reshape(-1, 3), colors.reshape(-1, 3)


def _filled(image: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with gaps filled by the nearest cells, and the table at height 0."""
    missing = np.isnan(heights)
    if missing.all():
        return image, np.zeros_like(heights)
    rows, columns = ndimage.distance_transform_edt(
        missing, return_distances=False, return_indices=True
    )
    image, heights = image[rows, columns], heights[rows, columns]
    heights = np.where(heights < TABLE_M, np.float32(0.0), heights)
    return image, heights.astype(np.float32)
