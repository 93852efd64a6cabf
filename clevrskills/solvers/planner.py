"""Motion planning with MPlib: nearest inverse kinematics, straight joint line, RRT-Connect only when that is blocked."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sapien import Pose

from clevrskills.robots.controller import Kinematics, kinematics
from clevrskills.robots.description import robot
from clevrskills.solvers.requirements import require_planner

JOINT_SPEED_RAD_PER_S = 2.0
JOINT_ACCELERATION_RAD_PER_S2 = 8.0
LINE_STEP_RAD = 0.05
"""Joint distance between collision checks on a straight line."""
RRT_STEP_RAD = 0.3
PLANNING_TIME_S = 5.0
"""Never the reason to stop in practice: a wall-clock limit would make plans depend on the machine's load."""
IK_RESTARTS = 8
NEAR_RAD = 1.5
"""A joint distance that is near enough to stop looking for a nearer solution."""
TABLE_TOP_M = -0.002
TABLE_SIZE_M = (2.4, 2.4, 0.04)


@cache
def _seed_function() -> Any:
    """Set the seed of OMPL's generators, which MPlib 0.1.1 does not offer itself."""
    import mplib

    package = Path(mplib.__file__).parent
    library = ctypes.CDLL(str(next(package.parent.glob("mplib.libs/libompl*"))))
    function = library._ZN4ompl3RNG7setSeedEm
    function.argtypes, function.restype = [ctypes.c_ulong], None
    return function


@cache
def motion_planner(robot_name: str) -> MotionPlanner:
    """The planner for a robot, made once in a process."""
    return MotionPlanner(robot_name)


class MotionPlanner:
    """Plans joint paths for one arm among boxes; all poses are in the frame of the robot's base.

    Args:
        robot_name: Key of the robot.
    """

    def __init__(self, robot_name: str) -> None:
        require_planner()
        import mplib
        from mplib.pymp.collision_detection import fcl

        self._fcl = fcl
        description = robot(robot_name)
        joints = len(description.joint_names)
        self._planner = mplib.Planner(
            urdf=str(description.urdf(visual=False)),
            srdf=str(description.srdf()),
            move_group=description.tcp_link,
            user_link_names=[],
            user_joint_names=list(description.joint_names),
            joint_vel_limits=np.full(joints, JOINT_SPEED_RAD_PER_S),
            joint_acc_limits=np.full(joints, JOINT_ACCELERATION_RAD_PER_S2),
        )
        self._world = self._planner.planning_world
        self.kinematics: Kinematics = kinematics(robot_name)
        self._boxes: list[str] = []

    def set_obstacles(self, boxes: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
        """Say what is in the way, besides the table.

        Args:
            boxes: Name -> (full size (3,), pose (7,)).
        """
        for name in self._boxes:
            self._world.remove_normal_object(name)
        table = np.array([0.5, 0.0, TABLE_TOP_M - TABLE_SIZE_M[2] / 2, 1.0, 0.0, 0.0, 0.0])
        everything = {"table": (np.array(TABLE_SIZE_M), table), **boxes}
        for name, (size, pose) in everything.items():
            box = self._fcl.Box(np.asarray(size, dtype=np.float64))
            pose = np.asarray(pose, dtype=np.float64)
            self._world.set_normal_object(name, self._fcl.CollisionObject(box, pose[:3], pose[3:]))
        self._boxes = list(everything)

    def set_held(self, box: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Say what the gripper holds: full size (3,) and pose (7,) in the end-effector frame; ``None``: nothing."""
        if box is not None:
            self._planner.update_attached_box(*(np.asarray(v, dtype=np.float64) for v in box))
        self._world.set_use_attach(box is not None)

    def collides(self, qpos: np.ndarray) -> bool:
        """Whether the arm, or what it holds, touches itself or an obstacle at joint angles (n,)."""
        self._planner.robot.set_qpos(qpos, True)
        return len(self._world.collide_full()) > 0

    def solve(self, pose: Pose, near: np.ndarray, generator: np.random.Generator) -> np.ndarray | None:
        """Collision-free joint angles (n,) that reach a pose, the nearest found; ``None`` if there are none."""
        best, best_distance = None, np.inf
        start = near
        for attempt in range(IK_RESTARTS):
            qpos = self.kinematics.inverse(pose, start)
            if qpos is not None:
                qpos = self._unwound(qpos, near)
                distance = float(np.abs(qpos - near).max())
                if distance < best_distance and not self.collides(qpos):
                    best, best_distance = qpos, distance
                    if attempt == 0 or distance < NEAR_RAD:
                        break
            spread = generator.normal(size=len(near)) * 0.6
            start = np.clip(near + spread, self.kinematics.lower, self.kinematics.upper)
        return best

    def _unwound(self, qpos: np.ndarray, near: np.ndarray) -> np.ndarray:
        """The same pose with every joint turned by whole turns to be nearest to another configuration."""
        turn = 2 * np.pi
        unwound = qpos - turn * np.round((qpos - near) / turn)
        unwound += turn * (unwound < self.kinematics.lower)
        return unwound - turn * (unwound > self.kinematics.upper)

    def path(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """A collision-free joint path from one configuration to another, (N, n), one row per control step.

        Returns:
            ``None`` if none was found.
        """
        distance = float(np.abs(goal - start).max())
        count = int(distance / LINE_STEP_RAD) + 1
        fractions = np.linspace(0.0, 1.0, count + 1)[1:-1]
        if any(self.collides(start + (goal - start) * f) for f in fractions):
            corners = self._rrt(start, goal, generator)
            if corners is None:
                return None
        else:
            corners = start + (goal - start) * np.linspace(0.0, 1.0, 5)[:, None]
        if distance < 1e-3:
            return np.stack((start, goal))
        timed = self._planner.TOPP(corners, 1.0 / 20.0)[1]
        return np.concatenate((timed, goal[None]))

    def _rrt(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        seed = int(generator.integers(1, 2**31))
        ctypes.CDLL(None).srand(ctypes.c_uint(seed))
        _seed_function()(seed)
        self._planner.robot.set_qpos(start, True)
        status, path = self._planner.planner.plan(
            start,
            [goal],
            range=RRT_STEP_RAD,
            time=PLANNING_TIME_S,
            fixed_joints=set(),
            planner_name="RRTConnect",
            no_simplification=False,
            constraint_function=None,
            constraint_jacobian=None,
            constraint_tolerance=1e-3,
            verbose=False,
        )
        return np.asarray(path) if status == "Exact solution" else None
