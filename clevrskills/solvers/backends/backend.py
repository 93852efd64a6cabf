"""Interface of planning backends, which are found by name."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from clevrskills.sim.robots.description import RobotDescription
from clevrskills.solvers.requirements import require_planner

Solid = tuple[np.ndarray, np.ndarray]
"""A box: its full size (3,), and its pose (7,) or, in the gripper, its centre (3,)."""


class PlanningBackend(ABC):
    """Collisions and paths of one arm among boxes; all poses are in the frame of its base.

    The same calls give the same results, bit for bit, in any process.

    Args:
        description: The arm.
        lower: Least joint angles (n,) of a path.
        upper: Greatest joint angles (n,).
    """

    def __init__(self, description: RobotDescription, lower: np.ndarray, upper: np.ndarray) -> None:
        self._description, self._lower, self._upper = description, lower, upper

    @abstractmethod
    def set_scene(self, boxes: Mapping[str, Solid], held: Solid | None) -> None:
        """Set the obstacles and what the gripper holds.

        Args:
            boxes: Name -> (full size (3,), pose (7,)).
            held: Full size (3,) and centre (3,) of a box in the end-effector frame; ``None``:
                nothing.
        """

    @abstractmethod
    def touched(self, qpos: np.ndarray) -> set[str]:
        """Return the names of the boxes that the arm, or what it holds, collides with at joint
        angles (n,), and of the arm itself if it collides at all; its base, which stands on the
        table, collides with no box.
        """

    @abstractmethod
    def blocked(self, points: np.ndarray) -> bool:
        """Return whether any of some configurations (N, n) is in collision."""

    @abstractmethod
    def rrt_connect(
        self, start: np.ndarray, goal: np.ndarray, range_rad: float, seed: int
    ) -> np.ndarray | None:
        """Return points (N, n) of a path from one configuration (n,) to another by RRT-Connect
        (Kuffner and LaValle 2000), shortened; ``None`` if none is found.

        Args:
            start: Where it begins, free of collisions.
            goal: Where it ends, likewise.
            range_rad: Longest step of a tree.
            seed: Seed of the samples, from 1 on.
        """

    def timed(
        self,
        points: np.ndarray,
        speed_rad_per_s: float,
        acceleration_rad_per_s2: float,
        step_s: float,
    ) -> np.ndarray:
        """Return joint angles (N, n), one row per step, of the fastest motion from rest to rest on
        a spline through points (M, n), by TOPP-RA (Pham and Pham 2018).

        Raises:
            RuntimeError: There is none.
        """
        import toppra
        from toppra.algorithm import TOPPRA
        from toppra.constraint import JointAccelerationConstraint, JointVelocityConstraint

        joints = points.shape[1]
        speed = JointVelocityConstraint(np.full(joints, speed_rad_per_s))
        acceleration = JointAccelerationConstraint(np.full(joints, acceleration_rad_per_s2))
        spline = toppra.SplineInterpolator(np.linspace(0, 1, len(points)), points)
        timing = TOPPRA([speed, acceleration], spline, parametrizer="ParametrizeConstAccel")
        trajectory = timing.compute_trajectory()
        if trajectory is None:
            raise RuntimeError("TOPP-RA found no timing of a path")
        times_s = np.linspace(0, trajectory.duration, int(trajectory.duration / step_s))
        return np.asarray(trajectory(times_s))


def load_backend(name: str) -> type[PlanningBackend]:
    """Return a planning backend by its name.

    Raises:
        ClevrSkillsError: It is not installed or can't run.
        UnknownNameError: There is none of this name.
    """
    require_planner(name)
    module = importlib.import_module(f"clevrskills.solvers.backends.{name}_backend")
    return module.BACKEND
