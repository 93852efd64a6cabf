"""Ballistics of throws: straight run-ups of the gripper that end with a release."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from sapien import Pose

from clevrskills.sim.robots.controller import Kinematics, kinematics, rotation_vector_pose
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.sim.robots.description import robot
from clevrskills.sim.simulation import SIM_HZ
from clevrskills.sim.world import GRAVITY

STEP_S, PHYSICS_STEP_S = 1.0 / CONTROL_HZ, 1.0 / SIM_HZ
"""Duration of a control step and of a physics step."""
SPEED_UP_STEPS, EVEN_STEPS = (4, 6, 8), (1, 3, 5, 7)
UPWARD_M_PER_S = (0.0, 0.2, 0.4)
MAX_SPEED_M_PER_S, MAX_ACCELERATION_M_PER_S2 = 1.7, 8.0
TILT_RAD_PER_S = 1.9
"""Rate at which the gripper tilts forward, which unloads the elbow."""
REACH_M = 0.68
"""Largest distance of the gripper from the base."""
BRAKE_STEPS = 3
AIM_M, CORRECTIONS = 2e-3, 4
"""Tolerance of the predicted flight, and maximum number of corrections of the aim."""
PROBE_S = 1e-4
KEPT = 0.93
"""Share of the commanded velocity that a body has at the release: at the end of a physics step the
joints are slower by 4 % (base) to 15 % (wrist)."""


@dataclass(frozen=True)
class RunUp:
    """Run-up of the gripper to a throw."""

    # commanded end-effector poses in the frame of the base per control step, until the release
    poses: tuple[Pose, ...]
    brake: tuple[Pose, ...]  # poses after the release


@dataclass(frozen=True)
class Swing:
    """Parameters of a run-up."""

    velocity: np.ndarray  # final velocity of the gripper in m/s, (3,)
    speed_up: int  # control steps of acceleration
    even: int  # control steps at constant speed after that

    @property
    def steps(self) -> int:
        """Control steps until the release."""
        return self.speed_up + self.even

    @property
    def run_s(self) -> float:
        """Equivalent duration at full speed."""
        return STEP_S * (self.speed_up / 2 + self.even)

    def poses(self, start: Pose) -> list[Pose]:
        """Return the end-effector poses from rest to the release, and ``BRAKE_STEPS`` to rest."""
        faster = (np.arange(self.speed_up) + 0.5) / self.speed_up
        slower = 1.0 - np.arange(BRAKE_STEPS) / BRAKE_STEPS
        seconds = STEP_S * np.cumsum(np.concatenate((faster, np.ones(self.even), slower)))
        return [
            Pose(
                start.p + t * self.velocity,
                tilted_ahead(start.q, self.velocity, TILT_RAD_PER_S * t),
            )
            for t in seconds
        ]


@dataclass(frozen=True)
class Thrower:
    """Arm with a held object; all poses are in the frame of its base."""

    kinematics: Kinematics
    joint_speeds: np.ndarray  # speed limits of the joints in rad/s, (n,)
    grip: Pose  # pose of the object in the end-effector frame
    least_flight_m: float  # least horizontal distance of the flight

    @classmethod
    def of(cls, robot_name: str, grip: Pose, least_flight_m: float) -> Thrower:
        """Return the thrower of a robot."""
        return cls(kinematics(robot_name), _joint_speeds(robot_name), grip, least_flight_m)

    def swings(self, start: Pose, aim: np.ndarray) -> list[Swing]:
        """Return swings from rest that throw the object to ``aim`` (3,), shortest first."""
        origin = (start * self.grip).p
        way = aim[:2] - origin[:2]
        distance = float(np.linalg.norm(way))
        found = []
        for speed_up, even, upward in itertools.product(SPEED_UP_STEPS, EVEN_STEPS, UPWARD_M_PER_S):
            run_s = STEP_S * (speed_up / 2 + even)
            flight_s = fall_time_s(origin[2] + upward * run_s - aim[2], upward)
            speed = distance / (run_s + flight_s)
            swing = Swing(np.array([*(way / distance * speed), upward]), speed_up, even)
            total = float(np.linalg.norm(swing.velocity))
            if total > min(MAX_SPEED_M_PER_S, MAX_ACCELERATION_M_PER_S2 * STEP_S * speed_up):
                continue
            end = start.p + swing.velocity * run_s
            if speed * flight_s < self.least_flight_m or np.hypot(*end[:2]) > REACH_M:
                continue
            found.append((swing.steps + total, swing))
        return [swing for _, swing in sorted(found, key=lambda item: item[0])]

    def run_up(self, start: Pose, qpos: np.ndarray, aim: np.ndarray, swing: Swing) -> RunUp | None:
        """Return a run-up near a swing that throws the object through ``aim`` (3,), if any."""
        aimed = aim[:2] - (start * self.grip).p[:2]
        for _ in range(CORRECTIONS):
            poses = swing.poses(start)
            path = self._joint_path(poses, qpos)
            if path is None:
                return None
            origin, speed = self._let_go(path[: swing.steps + 1])
            flight_s = fall_time_s(origin[2] - aim[2], speed[2])
            missed = origin[:2] + speed[:2] * flight_s - aim[:2]
            if np.linalg.norm(missed) < AIM_M:
                return RunUp(tuple(poses[: swing.steps]), tuple(poses[swing.steps :]))
            aimed = aimed - missed
            velocity = np.array([*(aimed / (swing.run_s + flight_s)), swing.velocity[2]])
            swing = replace(swing, velocity=velocity)
        return None

    def _joint_path(self, poses: list[Pose], qpos: np.ndarray) -> np.ndarray | None:
        """Return joint angles (N + 1, n) along poses; ``None`` beyond a limit."""
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
        """Return position (3,) and velocity (3,) of the object at the end of a joint path."""
        turn = (path[-1] - path[-2]) / STEP_S * PROBE_S
        before, after = (
            (self.kinematics.forward(path[-1] + way) * self.grip).p for way in (-turn, turn)
        )
        return (before + after) / 2, KEPT * (after - before) / (2 * PROBE_S)


def tilted_ahead(orientation: np.ndarray, ahead: np.ndarray, angle_rad: float) -> np.ndarray:
    """Return an orientation (4,) tilted towards a horizontal direction (2,)."""
    axis = np.array([ahead[1], -ahead[0], 0.0]) / np.linalg.norm(ahead[:2])
    return (rotation_vector_pose(np.zeros(3), axis * angle_rad) * Pose(q=orientation)).q


@cache
def _joint_speeds(robot_name: str) -> np.ndarray:
    """Return the speed limits of the joints, in rad/s, (n,)."""
    description = robot(robot_name)
    speeds = {joint.name: joint.velocity_radps for joint in description.joints}
    return np.array([speeds[name] for name in description.joint_names])


def fall_time_s(height_m: float, upward_m_per_s: float) -> float:
    """Return the time until a thrown object has fallen by ``height_m``, 0 if that is negative.

    The simulation applies gravity at the start of each physics step.
    """
    upward = upward_m_per_s - GRAVITY * PHYSICS_STEP_S / 2
    square = upward**2 + 2 * GRAVITY * height_m
    return float((upward + np.sqrt(square)) / GRAVITY) if height_m > 0 else 0.0
