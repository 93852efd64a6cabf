"""RRT-Connect (Kuffner and LaValle 2000) with shortcuts and smoothing of the path."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

SAMPLES = 2000
SHORTCUTS = 60
"""Number of random shortcuts tried on a path."""
SPACING_RAD = 0.3
"""Largest distance of points for smoothing."""
SMOOTHING_ROUNDS = 5
"""Rounds of smoothing; more have little effect."""


def rrt_connect(
    start: np.ndarray,
    goal: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    free: Callable[[np.ndarray, np.ndarray], bool],
    range_rad: float,
    generator: np.random.Generator,
) -> np.ndarray | None:
    """Return points (N, n) of a smoothed path between two configurations (n,), if found.

    Args:
        start: First configuration.
        goal: Last configuration.
        lower: Lower joint limits.
        upper: Upper joint limits.
        free: Whether the line between two configurations is free of collisions.
        range_rad: Longest step of a tree.
        generator: Source of the samples.
    """
    growing, other = _Tree(start), _Tree(goal)
    for _ in range(SAMPLES):
        new = growing.extend(generator.uniform(lower, upper), free, range_rad)
        while new is not None:
            target = growing.points[new]
            met = other.extend(target, free, range_rad)
            if met is None:
                break
            if np.array_equal(other.points[met], target):
                path = np.array(growing.branch(new)[::-1] + other.branch(met)[1:])
                path = path if np.array_equal(path[0], start) else path[::-1]
                return _smoothed(_shortened(path, free, generator), free)
        growing, other = other, growing
    return None


class _Tree:
    """Tree of configurations (n,), the root first."""

    def __init__(self, root: np.ndarray) -> None:
        self.points, self._parents = [root], [0]

    def extend(
        self, target: np.ndarray, free: Callable[[np.ndarray, np.ndarray], bool], range_rad: float
    ) -> int | None:
        """Grow one step from the nearest node towards ``target``; return the index of the new node,
        ``None`` if blocked.
        """
        change = target - np.array(self.points)
        nearest = int((change**2).sum(1).argmin())
        length = float(np.linalg.norm(change[nearest]))
        near = self.points[nearest]
        point = target if length <= range_rad else near + change[nearest] * (range_rad / length)
        if not free(near, point):
            return None
        self.points.append(point)
        self._parents.append(nearest)
        return len(self.points) - 1

    def branch(self, index: int) -> list[np.ndarray]:
        """Return the configurations from a node back to the root."""
        found = [self.points[index]]
        while index:
            index = self._parents[index]
            found.append(self.points[index])
        return found


def _shortened(
    path: np.ndarray, free: Callable[[np.ndarray, np.ndarray], bool], generator: np.random.Generator
) -> np.ndarray:
    """Return a path (N, n) shortened by lines between random points."""
    for _ in range(SHORTCUTS):
        if len(path) < 3:
            break
        lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
        ends = np.concatenate(([0.0], np.cumsum(lengths)))
        cuts = np.sort(generator.uniform(0.0, ends[-1], 2))
        i, j = np.searchsorted(ends, cuts, side="right") - 1
        i, j = min(int(i), len(path) - 2), min(int(j), len(path) - 2)
        if i == j:
            continue
        a, b = (
            path[k] + (path[k + 1] - path[k]) * ((cut - ends[k]) / max(lengths[k], 1e-12))
            for k, cut in ((i, cuts[0]), (j, cuts[1]))
        )
        if free(a, b):
            path = np.concatenate((path[: i + 1], (a, b), path[j + 1 :]))
    return path


def _smoothed(path: np.ndarray, free: Callable[[np.ndarray, np.ndarray], bool]) -> np.ndarray:
    """Return a path (N, n) with corners rounded where that is free of collisions."""
    lines = [
        np.linspace(a, b, int(np.abs(b - a).max() / SPACING_RAD) + 2)[:-1]
        for a, b in itertools.pairwise(path)
    ]
    points = np.concatenate((*lines, path[-1:]))
    for _ in range(SMOOTHING_ROUNDS):
        for k in range(1, len(points) - 1):
            before, here, after = points[k - 1 : k + 2]
            moved = (before + 2 * here + after) / 4
            if free(before, moved) and free(moved, after):
                points[k] = moved
    return points
