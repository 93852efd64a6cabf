"""Visibility of blocks: how much of a block a camera sees past the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clevrskills.sim.body import Body
from clevrskills.sim.cameras import FixedCamera

SAMPLES = 24
"""Points along each side of a face."""


def visible_share(block: Body, others: Sequence[Body], camera: FixedCamera) -> float:
    """Return the share of what a camera would see of a block, were it alone, that others do not
    hide; all are cubes that stand upright, and what is seen counts by its size in the image.
    """
    points, normals = _surface(block)
    if camera.orthographic_m is None:
        rays = np.array(camera.eye_m) - points
    else:
        rays = np.broadcast_to(np.subtract(camera.eye_m, camera.target_m), points.shape)
    far = np.linalg.norm(rays, axis=1)
    facing = (rays * normals).sum(1) / far
    weight = np.maximum(facing, 0.0) / (far**2 if camera.orthographic_m is None else 1.0)
    hidden = np.zeros(len(points), bool)
    for other in others:
        hidden |= _hides(other, points, rays)
    return float((weight * ~hidden).sum() / weight.sum())


def _axes(body: Body) -> np.ndarray:
    """Return the axes of an upright body in the world, as columns, (3, 3)."""
    w, _, _, z = body.pose[3:]
    c, s = w * w - z * z, 2 * w * z
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _surface(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the sides and the top of a body, and which way they face, (N, 3) each."""
    half, tick = np.array(body.geometry.half_extents), (np.arange(SAMPLES) + 0.5) / SAMPLES * 2 - 1
    one, other = (grid.ravel() for grid in np.meshgrid(tick, tick))
    points, normals = [], []
    for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1)):
        local = np.empty((len(one), 3))
        local[:, axis], local[:, (axis + 1) % 3], local[:, (axis + 2) % 3] = sign, one, other
        points.append(local * half)
        normals.append(np.broadcast_to(sign * np.eye(3)[axis], local.shape))
    axes = _axes(body)
    return np.concatenate(points) @ axes.T + body.pose[:3], np.concatenate(normals) @ axes.T


def _hides(body: Body, points: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Return whether rays (N, 3) from points (N, 3) go through a body, (N,) bool."""
    axes, half = _axes(body), np.array(body.geometry.half_extents)
    start, way = (points - body.pose[:3]) @ axes, rays @ axes
    way = np.where(np.abs(way) < 1e-9, 1e-9, way)
    one, other = (-half - start) / way, (half - start) / way
    enters, leaves = np.minimum(one, other).max(1), np.maximum(one, other).min(1)
    found: np.ndarray = (leaves > np.maximum(enters, 0.0) + 1e-6) & (enters < 1.0)
    return found
