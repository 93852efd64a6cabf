"""Prediction of the side on which an object comes to rest on the table."""

from functools import cache

import numpy as np
from sapien import Pose
from scipy.spatial import cKDTree

from clevrskills.sim.world import World

DIRECTIONS = 600
"""Number of directions, about 5 degrees apart."""
NEIGHBORS = 8
SAFETY_RAD = 0.21
"""Margin of a release to directions that settle on another side."""
GAIN_RAD = 0.35
"""Least useful reduction of the tilt."""
CANDIDATES = 24


@cache
def _directions() -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors (D, 3), down first, and indices of neighbors (D, NEIGHBORS)."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * k
    spread = np.sqrt(1.0 - z**2)[:, None] * np.column_stack((np.cos(turn), np.sin(turn)))
    vectors = np.vstack(([0.0, 0.0, -1.0], np.column_stack((spread, z))))
    return vectors, cKDTree(vectors).query(vectors, NEIGHBORS + 1)[1][:, 1:]


def settled(points: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Return for each direction that may point down at first the index (D,) of the one that points
    down at rest, by following the descent of the center of mass.

    Args:
        points: Points of the body's surface in its frame, (P, 3).
        center: Center of mass, (3,).
    """
    vectors, nearest = _directions()
    height = ((points - center) @ vectors.T).max(0)
    around = np.column_stack((np.arange(len(vectors)), nearest))
    onwards = around[np.arange(len(vectors)), height[around].argmin(1)]
    while True:
        further = onwards[onwards]
        if (further == onwards).all():
            return onwards
        onwards = further


def towards_upright(world: World, body: int) -> list[np.ndarray]:
    """Return world orientations (4,) from which a released body settles upright or less tilted,
    sorted by tilt at rest, then by rotation; the yaw is arbitrary.

    Args:
        world: The world, B = 1.
        body: Slot of the body.
    """
    vectors, _ = _directions()
    points = world.solids.points[0, body].double().numpy()
    pose = Pose(q=world.body_pose[0, body, 3:].double().numpy())
    present = pose.inv().to_transformation_matrix()[:3, :3] @ [0.0, 0.0, -1.0]
    end = settled(points, world.solids.center[0, body].double().numpy())
    left = np.arccos(np.clip(-vectors[end, 2], -1.0, 1.0))
    near = vectors @ vectors.T >= np.cos(SAFETY_RAD)
    left = np.where(near, left[None], 0.0).max(1)  # worst case
    turn = np.arccos(np.clip(vectors @ present, -1.0, 1.0))
    tilt = float(np.arccos(np.clip(-present[2], -1.0, 1.0)))
    good = np.flatnonzero(left < tilt - GAIN_RAD)
    good = good[np.lexsort((turn[good], np.round(left[good] / GAIN_RAD)))]
    return [_turned(pose, vectors[k]) for k in good[:: max(1, len(good) // CANDIDATES)]]


def _turned(pose: Pose, down: np.ndarray) -> np.ndarray:
    """Return the orientation (4,) nearest to a pose with a direction (3,) of its frame down."""
    axis = pose.to_transformation_matrix()[:3, :3] @ down
    turn = np.array([1.0 - axis[2], *np.cross(axis, [0.0, 0.0, -1.0])])
    if np.linalg.norm(turn) < 1e-6:
        turn = np.array([0.0, 1.0, 0.0, 0.0])
    return np.asarray((Pose(q=turn / np.linalg.norm(turn)) * pose).q, dtype=np.float64)
