"""Motion planning: nearest inverse kinematics, straight joint line, RRT-Connect only when that is
blocked. Collisions and RRT-Connect are those of a planning backend.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from functools import cache

import numpy as np
from sapien import Pose
from scipy.spatial.transform import Rotation, Slerp

from clevrskills.sim.robots.controller import Kinematics, kinematics
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.sim.robots.description import robot
from clevrskills.solvers.backends.backend import Solid, load_backend
from clevrskills.solvers.requirements import planner_name

JOINT_SPEED_RAD_PER_S = 2.0
JOINT_ACCELERATION_RAD_PER_S2 = 8.0
LINE_STEP_RAD = 0.035
"""Joint distance between collision checks on a straight line: three in a control step at full
speed."""
ONE_STEP_RAD = 0.01
"""A motion that a single control step does; below it, TOPP sometimes finds no solution."""
SLIDE_STEP_RAD = 0.1
"""Turn of the end effector between points of its straight line."""
RRT_SEARCHES = ((0.3, 0.01), (0.3, 0.02), (0.15, 0.01), (0.3, 0.0), (0.05, 0.01), (0.02, 0.0))
"""Longest step of RRT-Connect in rad, and by how many metres obstacles are swollen for it, one
search after the other: OMPL looks for collisions every 0.2 rad or so, and cuts corners between."""
DETOUR_HEIGHTS_M = (0.05, 0.12, 0.2)
"""Heights above both ends of a blocked path at which it is crossed."""
TURN_LIMIT_RAD = 3.5
"""Limit of the joints that can turn around wholly: paths never go the long way round."""
CHECKS_PER_STEP = 3
"""Collision checks of a timed path for each control step."""
IK_RESTARTS = 8
NEAR_RAD = 1.5
"""A joint distance that is near enough to stop looking for a nearer solution."""
TABLE_TOP_M = -0.002
TABLE_SIZE_M = (2.4, 2.4, 0.04)


def motion_planner(robot_name: str) -> MotionPlanner:
    """Return the planner for a robot, made once in a process for each planning backend."""
    return _planner(robot_name, planner_name())


@cache
def _planner(robot_name: str, backend: str) -> MotionPlanner:
    return MotionPlanner(robot_name, backend)


class MotionPlanner:
    """Planner of joint paths for a robot among boxes; all poses are in the frame of its base.

    Args:
        robot_name: Key of the robot.
        backend: Name of the planning backend.

    Raises:
        ClevrSkillsError: The backend is not installed or can't run.
    """

    def __init__(self, robot_name: str, backend: str) -> None:
        self._description = robot(robot_name)
        self.kinematics: Kinematics = kinematics(robot_name)
        self.lower = np.maximum(self.kinematics.lower, -TURN_LIMIT_RAD)
        self.upper = np.minimum(self.kinematics.upper, TURN_LIMIT_RAD)
        self._backend = load_backend(backend)(self._description, self.lower, self.upper)
        self.set_scene({}, None)

    def set_scene(self, boxes: dict[str, Solid], held: Solid | None) -> None:
        """Set what is in the way, besides the table, and what the gripper holds.

        Args:
            boxes: Name -> (full size (3,), pose (7,)) in the frame of the base.
            held: Full size (3,) and centre (3,) of a box in the end-effector frame; ``None``:
                nothing.
        """
        self._boxes, self._held = boxes, held
        self._fill_world()

    def _fill_world(self, swell_m: float = 0.0, but: Collection[str] = ()) -> None:
        """Give the backend the table and the boxes, all but some boxes swollen."""
        table = np.array([0.5, 0.0, TABLE_TOP_M - TABLE_SIZE_M[2] / 2, 1.0, 0.0, 0.0, 0.0])
        swollen = {
            name: (size if name in but else size + 2 * swell_m, pose)
            for name, (size, pose) in self._boxes.items()
        }
        self._backend.set_scene({"table": (np.array(TABLE_SIZE_M), table), **swollen}, self._held)

    def collides(self, qpos: np.ndarray) -> bool:
        """Return whether the arm, or what it holds, touches itself or an obstacle at joint angles
        (n,).
        """
        return bool(self._backend.touched(qpos))

    def solve(
        self, pose: Pose, near: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """Return collision-free joint angles (n,) that reach a pose, the nearest found; ``None`` if
        there are none.

        The search starts from the present angles, then from the neutral ones turned towards the
        pose, then around those.
        """
        neutral = np.array(self._description.neutral_qpos)
        neutral[0] = np.arctan2(pose.p[1], pose.p[0])
        best, best_distance = None, np.inf
        for attempt in range(IK_RESTARTS):
            spread = generator.normal(size=len(near)) * 0.5
            start = (near, neutral)[attempt] if attempt < 2 else neutral + spread
            qpos = self.kinematics.inverse(pose, start)
            if qpos is None:
                continue
            qpos = self._unwound(qpos, near)
            distance = float(np.abs(qpos - near).max())
            if distance < best_distance and self.allows(qpos) and not self.collides(qpos):
                best, best_distance = qpos, distance
                if attempt < 2 or distance < NEAR_RAD:
                    break
        return best

    def _unwound(self, qpos: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return same pose, joints turned by whole turns to be within limits and near others."""
        turn = 2 * np.pi
        unwound = qpos - turn * np.round((qpos - near) / turn)
        unwound += turn * (unwound < self.lower)
        return unwound - turn * (unwound > self.upper)

    def allows(self, qpos: np.ndarray) -> bool:
        """Return whether all joint angles (n,) are within the limits that paths keep."""
        return bool((qpos >= self.lower).all() and (qpos <= self.upper).all())

    def path(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """Return a collision-free joint path from one configuration to another, (N, n), one row per
        control step.

        Tried in turn: the straight joint line; the straight line of the end effector; up, across
        and down; RRT-Connect, whose paths are longer. A start that collides is left on the first
        of them. All but the first are looked at again once they are timed, which rounds corners.

        Returns:
            ``None`` if none was found.
        """
        if np.abs(goal - start).max() < 1e-3:
            return np.stack((start, goal))
        if self._line(start, goal) is not None:
            return _ramp(start, goal)
        stuck = self.collides(start)
        for corners in self._ways(start, goal, generator):
            timed = self._timed(corners)
            if self._blocked(timed):  # smoothing cut a corner: stop at the corners instead
                ends = itertools.pairwise(_corners(corners))
                timed = np.concatenate([self._timed(_points(a, b))[:-1] for a, b in ends])
            if stuck or not self._blocked(timed):
                return np.concatenate((timed[:-1], goal[None]))
        return None

    def _ways(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Yield ways (N, n) around obstacles on the joint line, simple first, coarsely checked."""
        ways = itertools.chain(
            (self._slide(start, goal),),
            (self._detour(start, goal, height_m) for height_m in DETOUR_HEIGHTS_M),
            (self._rrt(start, goal, *search, generator) for search in RRT_SEARCHES),
        )
        yield from (way for way in ways if way is not None)

    def _timed(self, points: np.ndarray) -> np.ndarray:
        """Return joint angles of a smooth motion through points (N, n), a row per control step."""
        if np.abs(points - points[0]).max() < ONE_STEP_RAD:
            return points[[0, -1]]
        limits = JOINT_SPEED_RAD_PER_S, JOINT_ACCELERATION_RAD_PER_S2
        timed = self._backend.timed(points, *limits, 1.0 / CONTROL_HZ)
        start = timed if len(timed) else points[:1]  # none at all for what takes less than a step
        return np.concatenate((start, points[-1:]))

    def _blocked(self, timed: np.ndarray) -> bool:
        """Return whether a motion collides at or between its steps."""
        between = [_points(a, b, CHECKS_PER_STEP + 1)[:-1] for a, b in itertools.pairwise(timed)]
        return self._backend.blocked(np.concatenate(between)[1:])

    def _line(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """Return the straight joint line, (N, n), if it is free of collisions."""
        count = int(np.abs(goal - start).max() / LINE_STEP_RAD) + 1
        if self._backend.blocked(_points(start, goal, count + 1)[1:-1]):
            return None
        return _points(start, goal)

    def _slide(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """Return end effector's straight line, evenly turned, (N, n), if free up to the goal."""
        first, last = (self.kinematics.forward(qpos) for qpos in (start, goal))
        turn = Rotation.from_quat(np.stack((first.q, last.q))[:, [1, 2, 3, 0]])
        angle = float((turn[0].inv() * turn[1]).magnitude())
        count = 2 + int(max(np.abs(goal - start).max(), angle) / SLIDE_STEP_RAD)
        points = [start]
        for part in np.linspace(0.0, 1.0, count)[1:]:
            q = Slerp([0.0, 1.0], turn)(part).as_quat()[[3, 0, 1, 2]]
            pose = Pose(first.p + part * (last.p - first.p), q)
            qpos = self.kinematics.inverse(pose, points[-1])
            if qpos is None or not self.allows(qpos):
                return None
            points.append(qpos)
        way = np.stack(points)
        reached = np.abs(way[-1] - goal).max() < SLIDE_STEP_RAD
        return way if reached and not self._backend.blocked(way[1:]) else None

    def _detour(self, start: np.ndarray, goal: np.ndarray, height_m: float) -> np.ndarray | None:
        """Return the path up, across above both ends, and down, (N, n), if collision-free."""
        ends = [self.kinematics.forward(qpos) for qpos in (start, goal)]
        top = max(float(pose.p[2]) for pose in ends) + height_m
        corners = [start]
        for pose in ends:
            above = Pose([pose.p[0], pose.p[1], top], pose.q)
            qpos = self.kinematics.inverse(above, corners[-1])
            if qpos is None or not self.allows(qpos) or self.collides(qpos):
                return None
            corners.append(qpos)
        corners.append(goal)
        lines = [self._line(a, b) for a, b in zip(corners, corners[1:], strict=False)]
        if any(line is None for line in lines):
            return None
        return np.concatenate([lines[0][:1], *(line[1:] for line in lines)])  # type: ignore[index]

    def _rrt(
        self,
        start: np.ndarray,
        goal: np.ndarray,
        range_rad: float,
        swell_m: float,
        generator: np.random.Generator,
    ) -> np.ndarray | None:
        seed = int(generator.integers(1, 2**31))
        # only what leaves both ends free can be swollen
        self._fill_world(swell_m)
        touched = self._backend.touched(start) | self._backend.touched(goal)
        self._fill_world(swell_m, touched)
        path = self._backend.rrt_connect(start, goal, range_rad, seed)
        self._fill_world()
        return path


def _points(start: np.ndarray, goal: np.ndarray, count: int = 6) -> np.ndarray:
    """Return points (count, n) on a straight joint line, both ends included."""
    return start + (goal - start) * np.linspace(0.0, 1.0, count)[:, None]


def _ramp(start: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return straight joint line from rest to rest, as fast as may be, (N, n), a row per step."""
    distance_rad = float(np.abs(goal - start).max())
    acceleration = JOINT_ACCELERATION_RAD_PER_S2
    speed = min(JOINT_SPEED_RAD_PER_S, np.sqrt(distance_rad * acceleration))
    ramp_s = speed / acceleration
    duration_s = distance_rad / speed + ramp_s
    t = np.minimum(np.arange(np.ceil(duration_s * CONTROL_HZ) + 1) / CONTROL_HZ, duration_s)
    up, down = np.minimum(t, ramp_s), np.maximum(t - (duration_s - ramp_s), 0.0)
    # less than at full speed all along
    missed_rad = speed * up - acceleration * (up**2 - down**2) / 2
    return start + (goal - start) * ((speed * t - missed_rad) / distance_rad)[:, None]


def _corners(path: np.ndarray) -> np.ndarray:
    """Return the points (N, n) of a path at which it changes direction, and its ends."""
    kept = [path[0]]
    for before, here, after in zip(path, path[1:], path[2:], strict=False):
        arriving, leaving = here - before, after - here
        lengths = float(np.linalg.norm(arriving) * np.linalg.norm(leaving))
        if lengths > 1e-12 and float(arriving @ leaving) < lengths * (1.0 - 1e-6):
            kept.append(here)
    return np.stack((*kept, path[-1]))
