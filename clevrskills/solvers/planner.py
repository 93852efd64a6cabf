"""Motion planning with inverse kinematics, simple paths and, if these are blocked, RRT-Connect."""

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
"""Joint distance between collision checks on a line: three per control step at full speed."""
ONE_STEP_RAD = 0.01
"""Motion of a single control step; TOPP may find no solution below it."""
SLIDE_STEP_RAD = 0.1
"""Rotation of the end effector between points of its straight line."""
RRT_SEARCHES = ((0.3, 0.01), (0.3, 0.02), (0.15, 0.01), (0.3, 0.0), (0.05, 0.01), (0.02, 0.0))
"""Longest step in rad and inflation of obstacles in m of successive RRT searches: OMPL checks
collisions about every 0.2 rad and cuts corners between."""
DETOUR_HEIGHTS_M = (0.05, 0.12, 0.2)
"""Heights of detours above both ends of a blocked path."""
TURN_LIMIT_RAD = 3.5
"""Limit of joints that can rotate fully, so that paths take the short way."""
CHECKS_PER_STEP = 3
"""Collision checks of a timed path per control step."""
IK_RESTARTS = 8
NEAR_RAD = 1.5
"""Joint distance at which the search for a nearer solution stops."""
TABLE_TOP_M = -0.002
TABLE_SIZE_M = (2.4, 2.4, 0.04)


def motion_planner(robot_name: str) -> MotionPlanner:
    """Return the cached planner of a robot for the current planning backend."""
    return _planner(robot_name, planner_name())


@cache
def _planner(robot_name: str, backend: str) -> MotionPlanner:
    return MotionPlanner(robot_name, backend)


class MotionPlanner:
    """Planner of joint paths of a robot among boxes, in the frame of its base.

    Raises:
        ClevrSkillsError: The backend is not installed or cannot run.
    """

    def __init__(self, robot_name: str, backend: str) -> None:
        self._description = robot(robot_name)
        self.kinematics: Kinematics = kinematics(robot_name)
        self.lower = np.maximum(self.kinematics.lower, -TURN_LIMIT_RAD)
        self.upper = np.minimum(self.kinematics.upper, TURN_LIMIT_RAD)
        self._backend = load_backend(backend)(self._description, self.lower, self.upper)
        self.set_scene({}, None)

    def set_scene(self, boxes: dict[str, Solid], held: Solid | None) -> None:
        """Set the obstacles besides the table, and the held box in the end-effector frame."""
        self._boxes, self._held = boxes, held
        self._fill_world()

    def _fill_world(self, swell_m: float = 0.0, but: Collection[str] = ()) -> None:
        """Set the backend's obstacles, inflated except those in ``but``."""
        table = np.array([0.5, 0.0, TABLE_TOP_M - TABLE_SIZE_M[2] / 2, 1.0, 0.0, 0.0, 0.0])
        swollen = {
            name: (size if name in but else size + 2 * swell_m, pose)
            for name, (size, pose) in self._boxes.items()
        }
        self._backend.set_scene({"table": (np.array(TABLE_SIZE_M), table), **swollen}, self._held)

    def collides(self, qpos: np.ndarray) -> bool:
        """Return whether arm or held body are in collision at joint angles (n,)."""
        return bool(self._backend.touched(qpos))

    def solve(
        self, pose: Pose, near: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """Return the nearest collision-free joint angles (n,) found for a pose, if any.

        The search starts from the current angles, then from the neutral ones turned towards the
        pose, then from random ones around them.
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
        """Return equivalent joint angles within limits and near others."""
        turn = 2 * np.pi
        unwound = qpos - turn * np.round((qpos - near) / turn)
        unwound += turn * (unwound < self.lower)
        return unwound - turn * (unwound > self.upper)

    def allows(self, qpos: np.ndarray) -> bool:
        """Return whether joint angles (n,) are within the limits of paths."""
        return bool((qpos >= self.lower).all() and (qpos <= self.upper).all())

    def path(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """Return a collision-free joint path (N, n), one row per control step, if one is found.

        Tried in turn: joint line; straight line of the end effector; up, across and down;
        RRT-Connect. All but the joint line are checked again after timing, which rounds corners,
        unless the start is in collision.
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
        """Yield coarsely checked paths (N, n) around obstacles, simple ones first."""
        ways = itertools.chain(
            (self._slide(start, goal),),
            (self._detour(start, goal, height_m) for height_m in DETOUR_HEIGHTS_M),
            (self._rrt(start, goal, *search, generator) for search in RRT_SEARCHES),
        )
        yield from (way for way in ways if way is not None)

    def _timed(self, points: np.ndarray) -> np.ndarray:
        """Return a smooth motion through points (N, n), a row per control step."""
        if np.abs(points - points[0]).max() < ONE_STEP_RAD:
            return points[[0, -1]]
        limits = JOINT_SPEED_RAD_PER_S, JOINT_ACCELERATION_RAD_PER_S2
        timed = self._backend.timed(points, *limits, 1.0 / CONTROL_HZ)
        start = timed if len(timed) else points[:1]  # empty if it takes less than a step
        return np.concatenate((start, points[-1:]))

    def _blocked(self, timed: np.ndarray) -> bool:
        """Return whether a motion is in collision at or between its steps."""
        between = [_points(a, b, CHECKS_PER_STEP + 1)[:-1] for a, b in itertools.pairwise(timed)]
        return self._backend.blocked(np.concatenate(between)[1:])

    def _line(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """Return the joint line (N, n), if it is free of collisions."""
        count = int(np.abs(goal - start).max() / LINE_STEP_RAD) + 1
        if self._backend.blocked(_points(start, goal, count + 1)[1:-1]):
            return None
        return _points(start, goal)

    def _slide(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """Return the end effector's straight line (N, n), if it is free of collisions."""
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
        """Return the path (N, n) up, across and down, if it is free of collisions."""
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
        # boxes that touch an end when inflated keep their size
        self._fill_world(swell_m)
        touched = self._backend.touched(start) | self._backend.touched(goal)
        self._fill_world(swell_m, touched)
        path = self._backend.rrt_connect(start, goal, range_rad, seed)
        self._fill_world()
        return path


def _points(start: np.ndarray, goal: np.ndarray, count: int = 6) -> np.ndarray:
    """Return points (count, n) on a joint line, including both ends."""
    return start + (goal - start) * np.linspace(0.0, 1.0, count)[:, None]


def _ramp(start: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the fastest motion (N, n) on a joint line from rest to rest, a row per step."""
    distance_rad = float(np.abs(goal - start).max())
    acceleration = JOINT_ACCELERATION_RAD_PER_S2
    speed = min(JOINT_SPEED_RAD_PER_S, np.sqrt(distance_rad * acceleration))
    ramp_s = speed / acceleration
    duration_s = distance_rad / speed + ramp_s
    t = np.minimum(np.arange(np.ceil(duration_s * CONTROL_HZ) + 1) / CONTROL_HZ, duration_s)
    up, down = np.minimum(t, ramp_s), np.maximum(t - (duration_s - ramp_s), 0.0)
    # shortfall against constant full speed
    missed_rad = speed * up - acceleration * (up**2 - down**2) / 2
    return start + (goal - start) * ((speed * t - missed_rad) / distance_rad)[:, None]


def _corners(path: np.ndarray) -> np.ndarray:
    """Return the corners of a path and its ends, (N, n)."""
    kept = [path[0]]
    for before, here, after in zip(path, path[1:], path[2:], strict=False):
        arriving, leaving = here - before, after - here
        lengths = float(np.linalg.norm(arriving) * np.linalg.norm(leaving))
        if lengths > 1e-12 and float(arriving @ leaving) < lengths * (1.0 - 1e-6):
            kept.append(here)
    return np.stack((*kept, path[-1]))
