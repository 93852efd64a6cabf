"""Visibility without a renderer, by surface points that are in the image and not occluded."""

from __future__ import annotations

from functools import cache
from math import cos, sin

import numpy as np

from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.rules.camera import HALF_VIEW, AgentCamera
from clevrskills.suites.asgardbench.rules.layout import Fixture, Room
from clevrskills.suites.asgardbench.rules.slots import Origin, Pose, origin_of

FAR_M = 5.0
"""Maximum distance of visible entities."""
SHARE = 0.1
"""Minimum unoccluded share of the points in the image."""
LEAST_PX = 150
"""Minimum number of visible pixels, in an image of :data:`SIZE_PX`."""
SIZE_PX = 1024
FOCAL_PX = SIZE_PX / 2 / HALF_VIEW
EDGE = (1 + HALF_VIEW**2) ** 0.5
HELD_FORWARD_M, HELD_TOP_M, HELD_LOW_M = 0.62, -0.10, -0.29
"""Distance of a held object ahead; height of the top of tall ones, of the bottom of others."""
HAND = (-0.075, 0.08, -0.36, -0.24)
"""Hand in the image: left, right, lower and upper edge (tangents)."""


def blocks_at(kind: str, width_m: float, opened: bool, origin: Origin, owner: int) -> np.ndarray:
    """Return the occluding boxes of a model.

    Returns:
        A column for each box (15, b): center, half size, cosine and sine of the yaw, number of its
        entity (-1: none), lower and upper corner of the axis-aligned box around it, with slack.
    """
    boxes = shape(kind, width_m).boxes[opened]
    middle, half = (boxes[:, :3] + boxes[:, 3:]) / 2, (boxes[:, 3:] - boxes[:, :3]) / 2
    turn = _yaw_matrix(origin[3])
    columns = np.empty((15, len(boxes)))
    columns[:3], columns[3:6] = (middle @ turn.T + origin[:3]).T, half.T
    columns[6], columns[7], columns[8] = turn[0, 0], turn[1, 0], owner
    around = (half @ abs(turn).T).T + 1e-6
    columns[9:12], columns[12:] = columns[:3] - around, columns[:3] + around
    return columns


def _yaw_matrix(yaw: float) -> np.ndarray:
    c, s = cos(yaw), sin(yaw)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


@cache
def fixture_blocks(fixture: Fixture, opened: bool, owner: int) -> np.ndarray:
    """Return the boxes of a fixture (15, b)."""
    return blocks_at(fixture.model, fixture.width_m, opened, fixture.origin, owner)


@cache
def fixture_points(fixture: Fixture, opened: bool) -> np.ndarray:
    """Return surface points of a fixture in the room (n, 3)."""
    points = shape(fixture.model, fixture.width_m).points[opened]
    return points @ _yaw_matrix(fixture.yaw_rad).T + fixture.origin[:3]


@cache
def turned(kind: str, opened: bool, yaw: float, tilt: float) -> np.ndarray:
    """Return surface points of an object relative to the center of its bounding box (n, 3)."""
    made = shape(kind)
    ct, st = cos(tilt), sin(tilt)
    lean = np.array([[ct, 0, st], [0, 1, 0], [-st, 0, ct]])
    return (made.points[opened] - made.middle) @ (_yaw_matrix(yaw) @ lean).T


@cache
def item_blocks(kind: str, opened: bool, pose: Pose, owner: int) -> np.ndarray:
    """Return the boxes of an object in the room (15, b); leaning objects have none."""
    if pose[4]:
        return np.zeros((15, 0))
    return blocks_at(kind, 0.0, opened, origin_of(kind, pose), owner)


@cache
def scenery_blocks(room: Room) -> np.ndarray:
    """Return the boxes of the scenery (15, b)."""
    parts = [fixture_blocks(each, False, -1) for each in room.scenery]
    return np.concatenate([np.zeros((15, 0)), *parts], axis=1)


@cache
def reach(kind: str, width_m: float) -> float:
    """Return the maximum distance of a model's points from the center, open or closed."""
    made = shape(kind, width_m)
    points = np.concatenate(made.points)
    return float(np.linalg.norm(points - made.middle, axis=1).max())


def may_see(camera: AgentCamera, place: tuple[float, float, float], reach_m: float) -> bool:
    """Return whether a ball may be in the image and in range."""
    x, y, z = (a - b for a, b in zip(place, camera.eye, strict=True))
    (fx, fy, fz), (rx, ry, _), (ux, uy, uz) = camera.forward, camera.right, camera.up
    depth = x * fx + y * fy + z * fz
    if depth < -reach_m or depth > FAR_M + reach_m:
        return False
    # planes through the edges of the image
    slack = reach_m * EDGE
    most = depth * HALF_VIEW + slack
    return abs(x * rx + y * ry) < most and abs(x * ux + y * uy + z * uz) < most


@cache
def held_frame(kind: str) -> tuple[float, float, float, float]:
    """Return left, right, lower and upper edge of a held object in the image (tangents)."""
    wide, _, high = shape(kind).size_m.tolist()
    low, near = held_low_m(high), HELD_FORWARD_M
    return -wide / 2 / near, wide / 2 / near, low / near, (low + 0.85 * high) / near


def held_low_m(high_m: float) -> float:
    """Return the height of the bottom of a held object relative to the eye."""
    return min(HELD_LOW_M, HELD_TOP_M - high_m)


def sees(
    camera: AgentCamera,
    points: np.ndarray,
    areas_m2: tuple[float, float, float],
    yaw: float,
    blocks: np.ndarray,
    owner: int,
    held: str,
) -> bool:
    """Return whether an entity is visible.

    Args:
        camera: The camera.
        points: Surface points (n, 3).
        areas_m2: Silhouette along the axes of the entity.
        yaw: Yaw of the entity.
        blocks: Occluding boxes (15, b), see :func:`blocks_at`.
        owner: Number of the entity, which does not occlude itself.
        held: Type of the held object, which occludes others; empty: none.
    """
    rays = points - camera.eye
    at = rays @ camera.matrix
    depth = at[:, 0]
    edge = HALF_VIEW * depth
    inside = (depth > 0.02) & (np.abs(at[:, 1]) < edge) & (np.abs(at[:, 2]) < edge)
    count = int(np.count_nonzero(inside))
    if not count:
        return False
    x, y, z = (float(v) for v in np.add.reduce(rays) / len(rays))
    far = (x * x + y * y + z * z) ** 0.5
    if far > FAR_M:
        return False
    c, s = cos(yaw), sin(yaw)
    a, b, top = areas_m2
    silhouette = ((c * x + s * y) * a) ** 2 + ((c * y - s * x) * b) ** 2 + (z * top) ** 2
    full_px = silhouette**0.5 / far * (FOCAL_PX / far) ** 2
    least = max(SHARE * count, LEAST_PX / max(full_px, 1e-9) * len(points))
    if count < least:
        return False
    free = ~_hidden(camera.eye, rays[inside], blocks, owner)
    if held:
        across, above = at[inside, 1:].T / depth[inside]
        for left, right, low, high in (held_frame(held), HAND):
            free &= ~((across > left) & (across < right) & (above > low) & (above < high))
    return int(np.count_nonzero(free)) >= least


def _hidden(
    eye: tuple[float, float, float], rays: np.ndarray, columns: np.ndarray, owner: int
) -> np.ndarray:
    """Return which points, given by rays from the eye (p, 3), are occluded (p,)."""
    # only boxes that intersect the bounding box of the rays
    low = np.minimum(np.minimum.reduce(rays), 0.0) + eye
    high = np.maximum(np.maximum.reduce(rays), 0.0) + eye
    near = columns[8] != owner
    for axis, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        near &= columns[9 + axis] < most
        near &= columns[12 + axis] > least
    return behind(eye, rays, columns[:, near])


def behind(eye: tuple[float, float, float], rays: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return which points, given by rays (p, 3), are behind one of the boxes (15, b)."""
    if not columns.shape[1]:
        return np.zeros(len(rays), bool)
    start = np.array(eye)[:, None] - columns[:3]
    half, c, s = columns[3:6], columns[6], columns[7]
    x, y, z = rays.T[:, :, None]
    way = np.empty((3, len(rays), columns.shape[1]))  # in the frame of each box
    np.add(c * x, s * y, out=way[0])
    np.subtract(c * y, s * x, out=way[1])
    way[2] = z
    way[way == 0] = 1e-12
    origin = np.empty((3, 1, columns.shape[1]))
    origin[0, 0] = c * start[0] + s * start[1]
    origin[1, 0] = c * start[1] - s * start[0]
    origin[2, 0] = start[2]
    first, last = (-half[:, None] - origin) / way, (half[:, None] - origin) / way
    enter = np.maximum.reduce(np.minimum(first, last), axis=0, initial=0.0)
    # objects touch the box that they lie on
    leave = np.minimum.reduce(np.maximum(first, last), axis=0, initial=0.985)
    return (enter < leave).any(1)
