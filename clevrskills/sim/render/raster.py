"""Rasterizer: pixels whose centers are covered by projected triangles, as in the renderer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clevrskills.assets import Shape
from clevrskills.sim.cameras import NEAR_M

_TIP_COLUMNS = 4
"""Pixel columns in which the tip of an object may miss all pixel centers."""


@dataclass(frozen=True)
class Corners:
    """Triangles (F, 3) with unique corners (V, 3)."""

    vertices: np.ndarray
    faces: np.ndarray


def extents(pixels: np.ndarray, faces: Faces) -> tuple[np.ndarray, np.ndarray]:
    """Return the first pixel and one past the last, each (R, 2), covered by R meshes with projected
    corners (R, V, 2).
    """
    x, y = pixels[..., 0], pixels[..., 1]
    across = np.concatenate((x, -x, y, -y))
    along = np.concatenate((y, y, x, x))  # (4 R, V), each scanned upwards
    first = np.ceil(across.min(1) - 0.5)
    found = first.copy()
    left = np.arange(len(across))
    for column in range(_TIP_COLUMNS):
        at = first[left] + 0.5 + column
        which, vertex = np.nonzero(across[left] <= at[:, None])
        which, corners = faces.around(which, left[which] % faces.meshes, vertex)
        row = left[which][:, None]
        low, high = _crossed(across[row, corners], along[row, corners], at[which])
        covered = which[np.ceil(low - 0.5) <= np.floor(high - 0.5)]
        found[left[covered]] += column
        left = np.delete(left, covered)
        if not len(left):
            break
    # shapes thinner than a pixel keep their first column
    start_x, end_x, start_y, end_y = found.reshape(4, -1)
    return np.stack((start_x, start_y), axis=-1), np.stack((-end_x, -end_y), axis=-1)


class Faces:
    """Triangles of several meshes, indexed by corner."""

    def __init__(self, meshes: Sequence[Corners]) -> None:
        self.meshes = len(meshes)
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
        """Return the triangles (m, 3) at corners (n,) of meshes (n,), with the tags (m,)."""
        corner = mesh * self._most + vertex
        counts = self._counts[corner]
        before = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) + np.repeat(self._starts[corner] - before, counts)
        return np.repeat(tags, counts), self._corners[index]


def _crossed(u: np.ndarray, v: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of v of triangles (n, 3) at u = ``at`` (n,); empty: +inf, -inf."""
    before, ahead = u - at[:, None], v[:, [1, 2, 0]]
    after = before[:, [1, 2, 0]]
    crosses = (before <= 0) != (after <= 0)
    where = v + (ahead - v) * (before / np.where(crosses, before - after, 1.0))
    return (np.where(crosses, where, np.inf).min(1), np.where(crosses, where, -np.inf).max(1))


def cut_off(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the corners (n, 3) of triangles clipped at the near plane."""
    edges = np.concatenate((faces[:, :2], faces[:, 1:], faces[:, ::2]))
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    cut = (start[:, 2] > NEAR_M) != (end[:, 2] > NEAR_M)
    start, end = start[cut], end[cut]
    part = (NEAR_M - start[:, 2:]) / (end[:, 2:] - start[:, 2:])
    return np.concatenate((points[points[:, 2] > NEAR_M], start + part * (end - start)))


def merged(mesh: Shape) -> Corners:
    """Return the triangles of a shape with unique corners."""
    vertices, index = np.unique(mesh.vertices, axis=0, return_inverse=True)
    return Corners(vertices.astype(np.float64), index.reshape(-1)[mesh.faces])
