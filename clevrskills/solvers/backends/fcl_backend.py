"""Planning backend of FCL for any numpy version."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clevrskills.sim.robots.description import RobotDescription
from clevrskills.solvers.backends.backend import PlanningBackend, Solid
from clevrskills.solvers.backends.collision import CollisionChecker
from clevrskills.solvers.backends.rrt_connect import rrt_connect

EDGE_STEP_RAD = 0.1
"""Joint distance between collision checks on an edge of a tree. It is coarse, since obstacles are
inflated and timed paths are checked again."""


class FclBackend(PlanningBackend):
    """Backend with collisions by FCL and RRT-Connect of this package."""

    def __init__(self, description: RobotDescription, lower: np.ndarray, upper: np.ndarray) -> None:
        super().__init__(description, lower, upper)
        self._checker = CollisionChecker(description)

    def set_scene(self, boxes: Mapping[str, Solid], held: Solid | None) -> None:
        self._checker.set_scene(boxes, held)

    def touched(self, qpos: np.ndarray) -> set[str]:
        return {name for pair in self._checker.collisions(qpos[None]) for name in pair}

    def blocked(self, points: np.ndarray) -> bool:
        return len(points) > 0 and any(True for _ in self._checker.collisions(points))

    def rrt_connect(
        self, start: np.ndarray, goal: np.ndarray, range_rad: float, seed: int
    ) -> np.ndarray | None:
        generator = np.random.default_rng(seed)
        return rrt_connect(start, goal, self._lower, self._upper, self._free, range_rad, generator)

    def _free(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Return whether a straight joint line, its end included, is free of collisions."""
        count = int(np.abs(b - a).max() / EDGE_STEP_RAD) + 1
        return not self.blocked(a + (b - a) * np.linspace(0.0, 1.0, count + 1)[1:, None])


BACKEND = FclBackend
