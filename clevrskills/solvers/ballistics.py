"""Throws: straight run-ups of the gripper, at whose end what it holds flies to where it should."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sapien import Pose

from clevrskills.robots.controller import Kinematics
from clevrskills.world import GRAVITY

STEP_S, PHYSICS_STEP_S = 0.05, 0.01
"""Duration of a control step and of a physics step."""
SPEED_UP_STEPS, EVEN_STEPS = range(3, 9), range(1, 8)
UPWARD_M_PER_S = (0.0, 0.2, 0.4, 0.6)
MAX_SPEED_M_PER_S, MAX_ACCELERATION_M_PER_S2 = 1.7, 8.0
REACH_M = (0.22, 0.66)
"""Distance from the base in which the gripper runs up and is stopped again."""
BRAKE_STEPS = 3
AIM_M, CORRECTIONS = 2e-3, 4
"""How near the predicted flight must come, and how often the aim is corrected for that."""
PROBE_S = 1e-4


@dataclass(frozen=True)
class RunUp:
    """How the gripper moves to throw.

    Attributes:
        poses: Commanded end-effector poses in the frame of the base, one per control step; after
            the last one the object is let go.
        brake: The poses after that.
    """

    poses: tuple[Pose, ...]
    brake: tuple[Pose, ...]


@dataclass(frozen=True)
class Thrower:
    """An arm and how it holds what is to be thrown; all poses are in the frame of its base.

    Attributes:
        kinematics: The arm's.
        joint_speeds: What its joints can do at most, in rad/s, (n,).
        grip: Pose of the object in the end-effector frame.
        least_flight_m: How far it must fly horizontally.
    """

    kinematics: Kinematics
    joint_speeds: np.ndarray
    grip: Pose
    least_flight_m: float

    def run_ups(self, start: Pose, aim: np.ndarray) -> list[tuple[int, np.ndarray, int, int]]:
        """The ways to run up from a pose at rest: number of control steps, velocity (3,), steps in
        which it speeds up, steps at an even pace; the shortest first.

        Only what follows from the distances; the arm has its own say in :meth:`run_up`.
        """
        origin = (start * self.grip).p
        way = aim[:2] - origin[:2]
        distance = float(np.linalg.norm(way))
        found = []
        for speed_up, even, upward in itertools.product(SPEED_UP_STEPS, EVEN_STEPS, UPWARD_M_PER_S):
            run_s = STEP_S * (speed_up / 2 + even)
            flight_s = fall_time_s(origin[2] + upward * run_s - aim[2], upward)
            speed = distance / (run_s + flight_s)
            velocity = np.array([*(way / distance * speed), upward])
            total = float(np.linalg.norm(velocity))
            if total > min(MAX_SPEED_M_PER_S, MAX_ACCELERATION_M_PER_S2 * STEP_S * speed_up):
                continue
            end = start.p + velocity * (run_s + STEP_S * (BRAKE_STEPS + 1) / 2)
            if speed * flight_s < self.least_flight_m or np.hypot(*end[:2]) > REACH_M[1]:
                continue
            found.append((speed_up + even, velocity, speed_up, even))
        return sorted(found, key=lambda item: (item[0], float(np.linalg.norm(item[1]))))

    def run_up(
        self, start: Pose, qpos: np.ndarray, aim: np.ndarray, velocity: np.ndarray, speed_up: int,
        even: int,
    ) -> RunUp | None:
        """A run-up after which the object flies through the aim (3,), near a given one; ``None`` if
        the arm can't do it.
        """
        aimed = aim.copy()
        for _ in range(CORRECTIONS):
            shares = [(k + 0.5) / speed_up for k in range(speed_up)] + [1.0] * even
            poses = [
                Pose(start.p + way * velocity * STEP_S, start.q) for way in np.cumsum(shares)
            ]
            path = self._joint_path(poses, qpos)
            if path is None:
                return None
            origin, speed = self._let_go(path)
            flight_s = fall_time_s(origin[2] - aim[2], speed[2])
            missed = origin[:2] + speed[:2] * flight_s - aim[:2]
            if np.linalg.norm(missed) < AIM_M:
                rest = np.cumsum([1.0 - k / BRAKE_STEPS for k in range(BRAKE_STEPS)])
                brake = [
                    Pose(poses[-1].p + way * velocity * STEP_S, start.q) for way in rest
                ]
                if self._joint_path(brake, path[-1]) is None:
                    return None
                return RunUp(tuple(poses), tuple(brake))
            aimed[:2] -= missed
            run_s = STEP_S * (speed_up / 2 + even)
            first = (start * self.grip).p
            velocity = np.array([*((aimed - first)[:2] / (run_s + flight_s)), velocity[2]])
        return None

    def _joint_path(self, poses: list[Pose], qpos: np.ndarray) -> np.ndarray | None:
        """Joint angles (N + 1, n) along poses, as the controller finds them; ``None`` if a joint
        would have to go further or faster than it can.
        """
        path = [qpos]
        for pose in poses:
            found = self.kinematics.inverse(pose, path[-1])
            if found is None or not self.kinematics.within_limits(found):
                return None
            if (np.abs(found - path[-1]) > self.joint_speeds * STEP_S).any():
                return None
            path.append(found)
        return np.array(path)

    def _let_go(self, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) and velocity (3,) of the object at the end of a joint path.

        Between commanded poses the joints move evenly, so that the gripper is on an arc, not on the
        straight line: its velocity at the end is not that from pose to pose.
        """
        turn = (path[-1] - path[-2]) / STEP_S * PROBE_S
        before, after = (
            (self.kinematics.forward(path[-1] + way) * self.grip).p for way in (-turn, turn)
        )
        return (before + after) / 2, (after - before) / (2 * PROBE_S)


def fall_time_s(height_m: float, upward_m_per_s: float) -> float:
    """After what time a thrown object is some height lower; 0 if it starts below that.

    In the simulation gravity acts at the start of each physics step for all of it.
    """
    upward = upward_m_per_s - GRAVITY * PHYSICS_STEP_S / 2
    square = upward**2 + 2 * GRAVITY * height_m
    return float((upward + np.sqrt(square)) / GRAVITY) if height_m > 0 else 0.0


def starts(aim: np.ndarray, turn: float) -> Iterator[np.ndarray]:
    """Places (3,) of the end effector from which to run up, in the frame of the base."""
    angle = np.arctan2(aim[1], aim[0])
    for radius, offset, height in itertools.product(
        (0.28, 0.36, 0.44), (0.0, -0.5, 0.5, -1.0, 1.0), (0.32, 0.4)
    ):
        yield np.array([*(radius * np.array([np.cos(angle + offset), np.sin(angle + offset)])), height])
