"""Shapes of models for the rules: size, surface points, and occluding boxes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from clevrskills.suites.asgardbench.models.catalogue import builder, item_builders
from clevrskills.suites.asgardbench.models.model import BuildInput, FixtureModel, Piece, State

POINTS = {True: 24, False: 48}
"""Number of surface points of an object (``True``) and of a fixture."""
HOLLOW = frozenset({"Bowl", "Cup", "Mug", "Pan", "Pot", "Plate", "Box"})
"""Objects whose inside is visible; others occlude as one block."""
ROUND = 0.9
"""Width of the occluding box of a round part, relative to the part."""
THIN_M = 0.03
"""Thickness in two directions below which an object occludes nothing."""
_SAMPLES, _GRID = 4000, 24


@dataclass(frozen=True, eq=False)
class ModelShape:
    """Size and occlusion of a model, in its own frame, meters."""

    low: np.ndarray  # lowest corner at rest (3,)
    high: np.ndarray  # highest corner at rest (3,)
    points: tuple[np.ndarray, np.ndarray]  # surface points (n, 3), closed and open
    boxes: tuple[np.ndarray, np.ndarray]  # corners of occluding boxes (b, 6), closed and open
    areas_m2: tuple[float, float, float]  # silhouette along x, y and z

    @property
    def size_m(self) -> np.ndarray:
        """Width, depth and height (3,)."""
        return self.high - self.low

    @property
    def middle(self) -> np.ndarray:
        """Center of the bounding box (3,)."""
        return (self.low + self.high) / 2


@cache
def shape(kind: str, width_m: float = 0.0) -> ModelShape:
    """Return the shape of the model of a kind; 0: the default width.

    Raises:
        ValueError: The kind is unknown.
    """
    build, item = builder(kind), kind in item_builders()
    models = [build(BuildInput(State(open=k), width_mm=1000 * width_m)) for k in (False, True)]
    low, high = models[0].bounds_m()
    points, boxes = [], []
    for model, opened in zip(models, (False, True), strict=True):
        triangles = _triangles(model, State(open=opened))
        points.append(_samples(triangles, POINTS[item]))
        if item and kind not in HOLLOW:
            boxes.append(_block(triangles))
        else:
            boxes.append(_boxes(model, State(open=opened)))
    cloud = _samples(_triangles(models[0], State()), _SAMPLES)
    along_x, along_y, along_z = (_silhouette(np.delete(cloud, k, axis=1)) for k in range(3))
    areas = (along_x, along_y, along_z)
    return ModelShape(low, high, (points[0], points[1]), (boxes[0], boxes[1]), areas)


def _moved(model: FixtureModel, piece: Piece, state: State, points_mm: np.ndarray) -> np.ndarray:
    points = points_mm / 1000
    if piece.joint is None:
        return points
    pose = model.joints[piece.joint].matrix(state)
    return points @ pose[:3, :3].T + pose[:3, 3]


def _triangles(model: FixtureModel, state: State) -> np.ndarray:
    """Return all triangles (n, 3, 3), meters."""
    return np.concatenate(
        [
            _moved(model, piece, state, patch.points)[patch.faces]
            for piece in model.solids
            for patch in piece.solid.patches
        ]
    )


def _samples(triangles: np.ndarray, count: int) -> np.ndarray:
    """Return deterministic, evenly spread points on triangles (n, 3)."""
    a, b, c = triangles.transpose(1, 0, 2)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    ends = np.cumsum(area)
    at = (np.arange(count) + 0.5) / count
    which = np.searchsorted(ends, at * ends[-1]).clip(0, len(area) - 1)
    u, v = (0.5 + np.arange(count) * 0.7548776662) % 1, (0.5 + np.arange(count) * 0.5698402910) % 1
    root = np.sqrt(u)[:, None]
    v = v[:, None]
    return (1 - root) * a[which] + root * (1 - v) * b[which] + root * v * c[which]


def _block(triangles: np.ndarray) -> np.ndarray:
    """Return one box for an object, none for a flat or thin one."""
    low, high = triangles.min((0, 1)), triangles.max((0, 1))
    size, middle = high - low, (high + low) / 2
    if np.sort(size)[1] < THIN_M or size[2] < THIN_M:
        return np.zeros((0, 6))
    half = size / 2 * [ROUND, ROUND, 0.97]
    return np.concatenate([middle - half, middle + half])[None]


def _boxes(model: FixtureModel, state: State) -> np.ndarray:
    """Return a box for each convex part that is not thin."""
    found = []
    for piece in model.solids:
        for part in piece.solid.parts:
            points = _moved(model, piece, state, part)
            low, high = points.min(0), points.max(0)
            if np.sort(high - low)[1] < THIN_M:
                continue
            if len(np.unique(np.round(part, 3), axis=0)) != 8:
                middle, half = (low + high) / 2, (high - low) / 2 * [ROUND, ROUND, 1.0]
                low, high = middle - half, middle + half
            found.append(np.concatenate([low, high]))
    return np.array(found).reshape(-1, 6)


def _silhouette(points: np.ndarray) -> float:
    """Return the area that points (n, 2) cover."""
    low, size = points.min(0), np.maximum(np.ptp(points, axis=0), 1e-3)
    cells = ((points - low) / size * (_GRID - 1e-6)).astype(int)
    return float(len(np.unique(cells, axis=0)) / _GRID**2 * size[0] * size[1])
