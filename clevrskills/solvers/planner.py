"""Motion planning with MPlib: nearest inverse kinematics, straight joint line, RRT-Connect only
when that is blocked.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import tempfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sapien import Pose
from scipy.spatial.transform import Rotation, Slerp

from clevrskills.sim.robots.controller import Kinematics, kinematics
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.sim.robots.description import robot
from clevrskills.solvers.requirements import require_planner

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
"""How far above both ends of a blocked path to cross."""
TURN_LIMIT_RAD = 3.5
"""Limit of the joints that can turn around wholly: paths never go the long way round."""
CHECKS_PER_STEP = 3
"""Collision checks of a timed path for each control step."""
PLANNING_TIME_S = 5.0
"""Never the reason to stop in practice: a wall-clock limit would make plans depend on the machine's
load."""
IK_RESTARTS = 8
NEAR_RAD = 1.5
"""A joint distance that is near enough to stop looking for a nearer solution."""
TABLE_TOP_M = -0.002
TABLE_SIZE_M = (2.4, 2.4, 0.04)
HELD_LINK = """<link name="held"><collision><origin xyz="{xyz}"/>
<geometry><box size="{size}"/></geometry></collision></link>
<joint name="held_mount" type="fixed"><parent link="{tcp}"/><child link="held"/></joint>
"""


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
    """Plans joint paths for a robot among boxes; all poses are in the frame of its base."""

    def __init__(self, robot_name: str) -> None:
        require_planner()
        import mplib
        from mplib.pymp.collision_detection import fcl

        self._fcl = fcl
        self._make = mplib.Planner
        self._description = robot(robot_name)
        self.kinematics: Kinematics = kinematics(robot_name)
        self.lower = np.maximum(self.kinematics.lower, -TURN_LIMIT_RAD)
        self.upper = np.minimum(self.kinematics.upper, TURN_LIMIT_RAD)
        self._free = self._planner = self._load(None)
        self._held: tuple[np.ndarray, Any] | None = None

    def _load(self, held: tuple[np.ndarray, np.ndarray] | None) -> Any:
        """An MPlib planner for the arm; what it holds is one more link.

        MPlib 0.1.1 has attached boxes of its own, but tests them against point clouds only.
        """
        description = self._description
        link = pairs = ""
        if held is not None:
            size, center = (" ".join(f"{v:.6f}" for v in values) for values in held)
            link = HELD_LINK.format(tcp=description.tcp_link, size=size, xyz=center)
            pairs = "".join(
                f'<disable_collisions link1="held" link2="{name}" reason="Adjacent"/>'
                for name in (description.tcp_link, description.gripper_link)
            )
        urdf = re.sub(
            r'(lower|upper)="(-?)6\.28\d*"',
            rf'\1="\g<2>{TURN_LIMIT_RAD}"',
            description.urdf(visual=False).read_text(),
        )
        joints = len(description.joint_names)
        with tempfile.TemporaryDirectory(prefix="clevrskills-planner-") as folder:
            files = {}
            for kind, text, extra in (
                ("urdf", urdf, link),
                ("srdf", description.srdf().read_text(), pairs),
            ):
                files[kind] = f"{folder}/robot.{kind}"
                Path(files[kind]).write_text(text.replace("</robot>", extra + "</robot>"))
            return self._make(
                **files,
                move_group=description.tcp_link,
                joint_vel_limits=np.full(joints, JOINT_SPEED_RAD_PER_S),
                joint_acc_limits=np.full(joints, JOINT_ACCELERATION_RAD_PER_S2),
            )

    def set_scene(
        self,
        boxes: dict[str, tuple[np.ndarray, np.ndarray]],
        held: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        """Say what is in the way, besides the table, and what the gripper holds.

        Args:
            boxes: Name -> (full size (3,), pose (7,)) in the frame of the base.
            held: Full size (3,) and centre (3,) of a box in the end-effector frame; ``None``:
                nothing.
        """
        if held is None:
            self._planner = self._free
        else:
            if self._held is None or not np.array_equal(held, self._held[0]):
                self._held = np.stack(held), self._load(held)
            self._planner = self._held[1]
        self._boxes = boxes
        self._fill_world()

    def _fill_world(self, swell_m: float = 0.0, but: Collection[str] = ()) -> None:
        """Put the table and the boxes into the planner's world, all but some boxes swollen."""
        world = self._planner.planning_world
        for name in world.get_normal_object_names():
            world.remove_normal_object(name)
        table = np.array([0.5, 0.0, TABLE_TOP_M - TABLE_SIZE_M[2] / 2, 1.0, 0.0, 0.0, 0.0])
        swollen = {
            name: (size if name in but else size + 2 * swell_m, pose)
            for name, (size, pose) in self._boxes.items()
        }
        for name, (size, pose) in {"table": (np.array(TABLE_SIZE_M), table), **swollen}.items():
            box = self._fcl.Box(np.asarray(size, dtype=np.float64))
            pose = np.asarray(pose, dtype=np.float64)
            world.set_normal_object(name, self._fcl.CollisionObject(box, pose[:3], pose[3:]))

    def collides(self, qpos: np.ndarray) -> bool:
        """Whether the arm, or what it holds, touches itself or an obstacle at joint angles (n,)."""
        return bool(self._touched(qpos))

    def _touched(self, qpos: np.ndarray) -> set[str]:
        """Names of what the arm touches at joint angles (n,); its base, which stands, excepted."""
        self._planner.robot.set_qpos(qpos, True)
        base = self._planner.user_link_names[0]
        return {
            name
            for pair in self._planner.planning_world.collide_full()
            for name in (pair.object_name1, pair.object_name2)
            if pair.link_name1 != base or pair.object_name1 == pair.object_name2
        }

    def solve(
        self, pose: Pose, near: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """Collision-free joint angles (n,) that reach a pose, the nearest found; ``None`` if there
        are none.

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
        """The same pose, joints turned by whole turns to be within limits and near others."""
        turn = 2 * np.pi
        unwound = qpos - turn * np.round((qpos - near) / turn)
        unwound += turn * (unwound < self.lower)
        return unwound - turn * (unwound > self.upper)

    def allows(self, qpos: np.ndarray) -> bool:
        """Whether all joint angles (n,) are within the limits that paths keep."""
        return bool((qpos >= self.lower).all() and (qpos <= self.upper).all())

    def path(
        self, start: np.ndarray, goal: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray | None:
        """A collision-free joint path from one configuration to another, (N, n), one row per
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
        """Ways (N, n) around what blocks the joint line, simple ones first, coarsely checked."""
        ways = itertools.chain(
            (self._slide(start, goal),),
            (self._detour(start, goal, height_m) for height_m in DETOUR_HEIGHTS_M),
            (self._rrt(start, goal, *search, generator) for search in RRT_SEARCHES),
        )
        yield from (way for way in ways if way is not None)

    def _timed(self, points: np.ndarray) -> np.ndarray:
        """Joint angles of a smooth motion through points (N, n), one row per control step."""
        if np.abs(points - points[0]).max() < ONE_STEP_RAD:
            return points[[0, -1]]
        timed = self._planner.TOPP(points, 1.0 / CONTROL_HZ)[1]
        start = timed if len(timed) else points[:1]  # none at all for what takes less than a step
        return np.concatenate((start, points[-1:]))

    def _blocked(self, timed: np.ndarray) -> bool:
        """Whether a motion collides at or between its steps."""
        between = [_points(a, b, CHECKS_PER_STEP + 1)[:-1] for a, b in itertools.pairwise(timed)]
        return any(self.collides(qpos) for qpos in np.concatenate(between)[1:])

    def _line(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """The straight joint line, (N, n), if it is free of collisions."""
        count = int(np.abs(goal - start).max() / LINE_STEP_RAD) + 1
        if any(self.collides(qpos) for qpos in _points(start, goal, count + 1)[1:-1]):
            return None
        return _points(start, goal)

    def _slide(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """The end effector's straight line, evenly turned, (N, n), if free up to the goal."""
        first, last = (self.kinematics.forward(qpos) for qpos in (start, goal))
        turn = Rotation.from_quat(np.stack((first.q, last.q))[:, [1, 2, 3, 0]])
        angle = float((turn[0].inv() * turn[1]).magnitude())
        count = 2 + int(max(np.abs(goal - start).max(), angle) / SLIDE_STEP_RAD)
        points = [start]
        for part in np.linspace(0.0, 1.0, count)[1:]:
            q = Slerp([0.0, 1.0], turn)(part).as_quat()[[3, 0, 1, 2]]
            pose = Pose(first.p + part * (last.p - first.p), q)
            qpos = self.kinematics.inverse(pose, points[-1])
            if qpos is None or not self.allows(qpos) or self.collides(qpos):
                return None
            points.append(qpos)
        return np.stack(points) if np.abs(points[-1] - goal).max() < SLIDE_STEP_RAD else None

    def _detour(self, start: np.ndarray, goal: np.ndarray, height_m: float) -> np.ndarray | None:
        """Up, across at a height above both ends, and down, (N, n), if free of collisions."""
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
        touched = self._touched(start) | self._touched(goal)
        self._fill_world(swell_m, touched)
        ctypes.CDLL(None).srand(ctypes.c_uint(seed))
        _seed_function()(seed)
        self._planner.robot.set_qpos(start, True)
        status, path = self._planner.planner.plan(
            start,
            [goal],
            range=range_rad,
            time=PLANNING_TIME_S,
            fixed_joints=set(),
            planner_name="RRTConnect",
            no_simplification=False,
            constraint_function=None,
            constraint_jacobian=None,
            constraint_tolerance=1e-3,
            verbose=False,
        )
        self._fill_world()
        return np.asarray(path) if status == "Exact solution" else None


def _points(start: np.ndarray, goal: np.ndarray, count: int = 6) -> np.ndarray:
    """Points (count, n) on a straight joint line, both ends included."""
    return start + (goal - start) * np.linspace(0.0, 1.0, count)[:, None]


def _ramp(start: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The straight joint line from rest to rest, as fast as may be, (N, n), a row per step."""
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
    """The points (N, n) of a path at which it changes direction, and its ends."""
    kept = [path[0]]
    for before, here, after in zip(path, path[1:], path[2:], strict=False):
        arriving, leaving = here - before, after - here
        lengths = float(np.linalg.norm(arriving) * np.linalg.norm(leaving))
        if lengths > 1e-12 and float(arriving @ leaving) < lengths * (1.0 - 1e-6):
            kept.append(here)
    return np.stack((*kept, path[-1]))
