"""Where objects are in a picture, and how much of each is seen.

Boxes come from projecting the triangles of the meshes, as the renderer does it: a pixel is covered
if its middle is. The share that is seen comes from points spread over the surface: those that face
the camera, each with the weight of the area that it stands for in the picture, are looked up in the
picture's segmentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clevrskills.cameras import NEAR_M
from clevrskills.film import TABLE_ID, Camera, View, to_buffer

SAMPLES = 384
"""Surface points of an object."""
NEARER_M = 0.004
"""How much nearer than a point something must be to hide it."""
NOT_IN_PICTURE = -1
_TIP_COLUMNS = 4
"""Pixel columns in which the tip of an object may miss the middle of every pixel."""
_R2 = (0.7548776662466927, 0.5698402909980532)
"""Steps of an even sequence of points in the unit square (Roberts 2018, "R2")."""


class Mesh(Protocol):
    """Triangles of an object in its own frame."""

    @property
    def vertices(self) -> np.ndarray:
        """Corners (V, 3) in metres."""

    @property
    def faces(self) -> np.ndarray:
        """Indices of vertices (F, 3), counter-clockwise seen from outside."""


@dataclass(frozen=True)
class _Mesh:
    vertices: np.ndarray
    faces: np.ndarray


@dataclass(frozen=True)
class Sighting:
    """What a camera sees of K objects.

    Attributes:
        boxes: x_min, y_min, x_max, y_max of each in pixels, the maxima exclusive, of the whole
            object as if nothing hid it, cut off at the edges of the picture; four times -1 for what
            is not in the picture; (K, 4) int16.
        visible: Share of each one's silhouette that is seen: neither hidden nor outside the
            picture; (K,) float32.
    """

    boxes: np.ndarray
    visible: np.ndarray


class Annotator:
    """Annotates pictures of some objects.

    Args:
        meshes: The objects.
    """

    def __init__(self, meshes: Sequence[Mesh]) -> None:
        merged = [_merged(mesh) for mesh in meshes]
        points = [_surface_points(mesh) for mesh in merged]
        self._meshes = merged
        self._vertices, self._absent = _padded([mesh.vertices for mesh in merged])
        self._faces = _Faces(merged) if merged else None
        self._points, self._normals, self._areas = (
            np.array([each[k] for each in points], dtype=np.float64) for k in range(3)
        )
        self._offsets = (self._points * self._normals).sum(-1)  # of the planes of the triangles

    def look(self, poses: np.ndarray, view: View, camera: Camera) -> Sighting:
        """Annotate a picture.

        Args:
            poses: World positions and quaternions w, x, y, z of the objects, (K, 7).
            view: The picture; body k is object k.
            camera: The camera that took it.
        """
        if not len(self._vertices):
            return Sighting(np.zeros((0, 4), np.int16), np.zeros(0, np.float32))
        turned, moved = _to_camera(poses, view.extrinsic)
        return Sighting(
            self._boxes(turned, moved, camera), self._visible(turned, moved, view, camera)
        )

    def _boxes(self, turned: np.ndarray, moved: np.ndarray, camera: Camera) -> np.ndarray:
        points = self._vertices @ turned.transpose(0, 2, 1) + moved[:, None]  # (K, V, 3)
        near = points[..., 2].min(1) <= NEAR_M
        points[..., 2] = np.maximum(points[..., 2], NEAR_M)
        pixels = _project(points, camera)
        pixels[self._absent] = np.inf
        low, high = _extents(pixels, self._faces)
        for k in np.flatnonzero(near):
            mesh = self._meshes[k]
            ahead = _ahead(mesh.vertices @ turned[k].T + moved[k], mesh.faces)
            if len(ahead):
                pixels_ahead = _project(ahead, camera)
                low[k] = np.ceil(pixels_ahead.min(0) - 0.5)
                high[k] = np.floor(pixels_ahead.max(0) - 0.5) + 1
            else:
                low[k] = high[k] = 0
        size = (camera.width, camera.height)
        low, high = np.clip(low, 0, size), np.clip(high, 0, size)
        boxes = np.concatenate((low, high), axis=-1)
        boxes[(low >= high).any(-1)] = NOT_IN_PICTURE
        return boxes.astype(np.int16)

    def _visible(
        self, turned: np.ndarray, moved: np.ndarray, view: View, camera: Camera
    ) -> np.ndarray:
        points = self._points @ turned.transpose(0, 2, 1) + moved[:, None]  # (K, S, 3)
        ahead = points[..., 2] > NEAR_M
        points[..., 2] = depth = np.maximum(points[..., 2], NEAR_M)
        lens = -np.matmul(moved[:, None], turned)[:, 0]  # (K, 3), in the frames of the objects
        facing = np.matmul(self._normals, lens[:, :, None])[..., 0] - self._offsets
        area = self._areas * np.maximum(facing, 0.0) * ahead / depth**3
        pixels = _project(points, camera)
        inside = ((pixels >= 0.0) & (pixels < (camera.width, camera.height))).all(-1)
        columns, rows = np.where(inside, np.moveaxis(pixels, -1, 0), 0.0).astype(np.int64)
        index = rows * camera.width + columns
        there = view.labels[view.numbers.reshape(-1)[index].astype(np.intp)]
        # at an edge the middle of a pixel may show what is behind the object
        nearer = view.buffer.reshape(-1)[index] < to_buffer(np.maximum(depth - NEARER_M, NEAR_M))
        other = (there != np.arange(1, 1 + len(points))[:, None]) & (there != 0)
        hidden = other & (there != TABLE_ID) & nearer
        seen = (area * (inside & ~hidden)).sum(1)
        return (seen / np.maximum(area.sum(1), 1e-12)).astype(np.float32)


def _to_camera(poses: np.ndarray, extrinsic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (K, 3, 3) and translations (K, 3) from objects to the camera."""
    w, x, y, z = np.moveaxis(np.asarray(poses, dtype=np.float64)[:, 3:], -1, 0)
    rotation = np.empty((len(poses), 3, 3))
    rotation[:, 0] = np.stack((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y))).T
    rotation[:, 1] = np.stack((2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x))).T
    rotation[:, 2] = np.stack((2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))).T
    turn, shift = extrinsic[:, :3], extrinsic[:, 3]
    return turn @ rotation, poses[:, :3] @ turn.T + shift


def _project(points: np.ndarray, camera: Camera) -> np.ndarray:
    """Pixel coordinates (..., 2) of points (..., 3) in camera coordinates."""
    intrinsic = camera.intrinsic
    focal, middle = intrinsic[0, 0], intrinsic[:2, 2]
    return points[..., :2] * (focal / points[..., 2:]) + middle


def _extents(pixels: np.ndarray, faces: _Faces) -> tuple[np.ndarray, np.ndarray]:
    """First column and row in which triangles cover the middle of a pixel, and one past the last.

    Args:
        pixels: Corners (K, V, 2) in pixel coordinates; infinite: none.
        faces: The triangles.

    Returns:
        Each (K, 2).
    """
    x, y = pixels[..., 0], pixels[..., 1]
    across = np.concatenate((x, np.where(np.isinf(x), x, -x), y, np.where(np.isinf(y), y, -y)))
    along = np.concatenate((y, y, x, x))  # (4 K, V), each to be followed upwards
    first = np.ceil(across.min(1) - 0.5)
    found = first.copy()
    left = np.arange(len(across))
    for column in range(_TIP_COLUMNS):
        at = first[left] + 0.5 + column
        which, vertex = np.nonzero(across[left] <= at[:, None])
        which, corners = faces.around(which, left[which] % len(pixels), vertex)
        row = left[which][:, None]
        low, high = _crossed(across[row, corners], along[row, corners], at[which])
        covered = which[np.ceil(low - 0.5) <= np.floor(high - 0.5)]
        found[left[covered]] += column
        left = np.delete(left, covered)
        if not len(left):
            break
    # what is thinner than a pixel keeps its first column
    start_x, end_x, start_y, end_y = found.reshape(4, -1)
    return np.stack((start_x, start_y), axis=-1), np.stack((-end_x, -end_y), axis=-1)


class _Faces:
    """The triangles of several meshes, found by their corners."""

    def __init__(self, meshes: Sequence[_Mesh]) -> None:
        self._most = max(len(mesh.vertices) for mesh in meshes)
        faces = np.concatenate([mesh.faces + k * self._most for k, mesh in enumerate(meshes)])
        # triangle t has corner c: sorted by corner
        order = np.argsort(faces.reshape(-1), kind="stable")
        self._corners = faces[order // 3] % self._most
        counts = np.bincount(faces.reshape(-1), minlength=len(meshes) * self._most)
        self._counts, self._starts = counts, np.cumsum(counts) - counts

    def around(
        self, tags: np.ndarray, mesh: np.ndarray, vertex: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The triangles at some corners (n,) of some meshes (n,), as corners (m, 3), each with the
        tag (m,) of where it was found.
        """
        corner = mesh * self._most + vertex
        counts = self._counts[corner]
        before = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) + np.repeat(self._starts[corner] - before, counts)
        return np.repeat(tags, counts), self._corners[index]


def _crossed(u: np.ndarray, v: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest v of triangles (n, 3) where u has some value (n,); if nowhere, +inf and
    -inf.
    """
    before, ahead = u - at[:, None], v[:, [1, 2, 0]]
    after = before[:, [1, 2, 0]]
    crosses = (before <= 0) != (after <= 0)
    where = v + (ahead - v) * (before / np.where(crosses, before - after, 1.0))
    return (
        np.where(crosses, where, np.inf).min(1),
        np.where(crosses, where, -np.inf).max(1),
    )


def _ahead(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Corners (n, 3) of what is left of triangles if all that is not ahead is cut off."""
    edges = np.concatenate((faces[:, :2], faces[:, 1:], faces[:, ::2]))
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    cut = (start[:, 2] > NEAR_M) != (end[:, 2] > NEAR_M)
    start, end = start[cut], end[cut]
    part = (NEAR_M - start[:, 2:]) / (end[:, 2:] - start[:, 2:])
    return np.concatenate((points[points[:, 2] > NEAR_M], start + part * (end - start)))


def _merged(mesh: Mesh) -> _Mesh:
    """The same triangles with each corner once."""
    vertices, index = np.unique(mesh.vertices, axis=0, return_inverse=True)
    return _Mesh(vertices.astype(np.float64), index.reshape(-1)[mesh.faces])


def _padded(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Arrays (n, 3) as one (K, N, 3), their first rows repeated, and which are such, (K, N)."""
    most = max((len(array) for array in arrays), default=0)
    rows = [np.concatenate((array, np.repeat(array[:1], most - len(array), 0))) for array in arrays]
    return np.array(rows), np.array([np.arange(most) >= len(array) for array in arrays])


def _surface_points(mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (S, 3) spread evenly over the surface, normals (S, 3), areas (S,) they stand for."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normals = np.cross(b - a, c - a)
    doubled = np.linalg.norm(normals, axis=1)
    ends = np.cumsum(doubled)
    which = np.searchsorted(ends, (np.arange(SAMPLES) + 0.5) * ends[-1] / SAMPLES)
    share, other = (np.arange(1, SAMPLES + 1) * step % 1.0 for step in _R2)
    root = np.sqrt(share)
    weights = np.stack((1 - root, root * (1 - other), root * other), axis=-1)
    corners = np.stack((a, b, c), axis=1)[which]
    points = (weights[..., None] * corners).sum(1)
    return points, normals[which] / doubled[which, None], np.full(SAMPLES, ends[-1] / 2 / SAMPLES)
