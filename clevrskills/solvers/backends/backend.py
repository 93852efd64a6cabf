"""Interface of planning backends."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from clevrskills.sim.robots.description import RobotDescription
from clevrskills.solvers.requirements import require_planner

Solid = tuple[np.ndarray, np.ndarray]
"""Box: full size (3,), and pose (7,) or, in the gripper, center (3,)."""


class PlanningBackend(ABC):
    """Collision checks and path planning of one arm among boxes, in the frame of its base.

    Results are deterministic bit for bit.

    Args:
        description: The arm.
        lower: Lower joint limits (n,) of paths.
        upper: Upper joint limits (n,).
    """

    def __init__(self, description: RobotDescription, lower: np.ndarray, upper: np.ndarray) -> None:
        self._description, self._lower, self._upper = description, lower, upper

    @abstractmethod
    def set_scene(self, boxes: Mapping[str, Solid], held: Solid | None) -> None:
        """Set the obstacles by name, and the held box in the end-effector frame."""

    @abstractmethod
    def touched(self, qpos: np.ndarray) -> set[str]:
        """Return the names of links and boxes in collision at joint angles (n,); the base of the
        arm collides with no box.
        """

    @abstractmethod
    def blocked(self, points: np.ndarray) -> bool:
        """Return whether any of the configurations (N, n) is in collision."""

    @abstractmethod
    def rrt_connect(
        self, start: np.ndarray, goal: np.ndarray, range_rad: float, seed: int
    ) -> np.ndarray | None:
        """Return points (N, n) of a shortened path by RRT-Connect (Kuffner and LaValle 2000), or
        ``None``.

        Args:
            start: First configuration (n,), free of collisions.
            goal: Last configuration (n,), free of collisions.
            range_rad: Longest step of a tree.
            seed: Positive seed of the samples.
        """

    def timed(
        self,
        points: np.ndarray,
        speed_rad_per_s: float,
        acceleration_rad_per_s2: float,
        step_s: float,
    ) -> np.ndarray:
        """Return joint angles (N, n) per step of the time-optimal motion on a spline through points
        (M, n), by TOPP-RA (Pham and Pham 2018).

        Raises:
            RuntimeError: There is no solution.
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
    """Return a planning backend by name.

    Raises:
        ClevrSkillsError: The backend is not installed or cannot run.
        UnknownNameError: An unknown name.
    """
    require_planner(name)
    module = importlib.import_module(f"clevrskills.solvers.backends.{name}_backend")
    return module.BACKEND
