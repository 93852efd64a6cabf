"""Delta end-effector control with 7-dimensional actions in the end-effector frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import torch
from gymnasium import spaces
from mani_skill.agents.controllers.base_controller import BaseController, ControllerConfig
from mani_skill.envs.scene import ManiSkillScene
from sapien import Pose
from sapien.pysapien_pinocchio import PinocchioModel  # whether or not the package pin is there

from clevrskills.core.geometry import length_np, rotation_quaternion_np
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M
from clevrskills.sim.robots.description import robot

LEASH_M, LEASH_RAD = 0.03, 0.2
"""Largest lead of the commanded pose over the measured one, against windup of a blocked arm."""
IK_ITERATIONS = 100
REACH_RESTARTS = 8


@lru_cache(maxsize=4)
def kinematics(robot_name: str) -> Kinematics:
    """Return the kinematics of a robot, shared within the process."""
    return Kinematics(robot_name)


class Kinematics:
    """Forward and inverse kinematics of an arm from its base to its tool center point."""

    def __init__(self, robot_name: str) -> None:
        description = robot(robot_name)
        urdf = Path(description.urdf(visual=False)).read_text()
        self._model = PinocchioModel(urdf, [0, 0, -9.81])
        self._model.set_joint_order(list(description.joint_names))
        self._links = [link.name for link in description.links]
        self._model.set_link_order(self._links)
        self._tcp = self._links.index(description.tcp_link)
        self._base = Pose(description.base_position)
        self._neutral = np.asarray(description.neutral_qpos, dtype=np.float64)
        limits = np.asarray(description.joint_limits, dtype=np.float64)
        self.lower, self.upper = limits[:, 0], limits[:, 1]

    def forward(self, qpos: np.ndarray) -> Pose:
        """Return the pose of the tool center point in the base frame at joint angles (n,)."""
        self._model.compute_forward_kinematics(qpos)
        return self._model.get_link_pose(self._tcp)

    def link_poses(self, qpos: np.ndarray) -> dict[str, Pose]:
        """Return the poses of all links by name in the base frame at joint angles (n,)."""
        self._model.compute_forward_kinematics(qpos)
        return {name: self._model.get_link_pose(k) for k, name in enumerate(self._links)}

    def inverse(self, pose: Pose, near: np.ndarray) -> np.ndarray | None:
        """Return joint angles (n,) for a pose near others, ignoring limits; ``None`` on failure."""
        qpos, reached, _ = self._model.compute_inverse_kinematics(
            self._tcp, pose, initial_qpos=near, max_iterations=IK_ITERATIONS
        )
        return np.asarray(qpos, dtype=np.float64) if reached else None

    def reach(self, pose: Pose) -> np.ndarray | None:
        """Return joint angles (n,) within limits for a pose, searched from the neutral ones turned
        towards it and from random ones around them; ``None`` on failure.
        """
        start = self._neutral.copy()
        start[0] = np.arctan2(pose.p[1], pose.p[0])
        for offset in _offsets(len(start)):
            qpos = self.inverse(pose, start + offset)
            if qpos is not None:
                qpos = (qpos + np.pi) % (2 * np.pi) - np.pi
                if self.within_limits(qpos):
                    return qpos
        return None

    def reach_in_world(self, pose: Pose) -> np.ndarray | None:
        """Return :meth:`reach` for a world pose."""
        return self.reach(self._base.inv() * pose)

    def within_limits(self, qpos: np.ndarray) -> bool:
        """Return whether all joint angles (n,) are within limits."""
        return bool(((qpos >= self.lower) & (qpos <= self.upper)).all())


@cache
def _shares(steps: int) -> np.ndarray:
    """Return the elapsed share of a control step after each of its physics steps, (n, 1)."""
    return np.arange(1, steps + 1)[:, None] / steps


@cache
def _offsets(joints: int) -> np.ndarray:
    """Return offsets of joint angles for the search in :meth:`Kinematics.reach`, zeros first."""
    spread = np.random.default_rng(0).normal(size=(REACH_RESTARTS, joints)) * 0.5
    return np.concatenate((np.zeros((1, joints)), spread))


def rotation_vector_pose(translation: np.ndarray, rotation: np.ndarray) -> Pose:
    """Return the pose from a translation (3,) and a rotation vector (3,)."""
    return Pose(translation, rotation_quaternion_np(rotation))


class EndEffectorDeltaController(BaseController):
    """Controller that moves a commanded end-effector pose by each action and drives the joints to
    it.

    Joint positions and speeds are interpolated within the control step, so motions are as smooth as
    the commands. Actions are relative to the commanded, not the measured, pose, which makes them
    independent of the lag of the arm. Tracking is accurate to about a millimeter at 0.6 m/s.
    """

    config: EndEffectorDeltaConfig
    sets_target_qpos = True
    sets_target_qvel = True

    def _initialize_action_space(self) -> None:
        self.single_action_space = spaces.Box(-1.0, 1.0, (7,), dtype=np.float32)

    def _initialize_joints(self) -> None:
        super()._initialize_joints()
        if self.scene.gpu_sim_enabled:
            raise ClevrSkillsError("GPU simulation is not supported yet; use num_envs=1")
        self._kinematics = kinematics(self.config.robot_name)
        self._take_over()

    def _take_over(self) -> None:
        """Control the current articulation."""
        self._robot = self.articulation._objs[0]
        self._tcp = self.articulation.links_map[robot(self.config.robot_name).tcp_link]._objs[0]
        self._drives = [joint._objs[0] for joint in self.joints]
        self._course: Iterator[list[float]] = iter(())
        self.vacuum_on = False
        self.reset()

    def move_to(self, scene: ManiSkillScene) -> None:
        """Control the arm rebuilt in another scene, as a new controller would."""
        self.scene = scene
        self._take_over()
        self.set_drive_property()

    def put_back(self, scene: ManiSkillScene) -> None:
        """Control the same arm in another scene, as a new controller would after a reset."""
        self.scene = scene
        self._course, self.vacuum_on = iter(()), False
        self.set_drive_property()

    def set_drive_property(self) -> None:
        """Set stiffness and damping of the joints."""
        config = self.config
        for drive in self._drives:
            drive.set_drive_properties(config.stiffness, config.damping, config.force_limit)
            drive.set_friction(0.0)

    def _measured(self) -> Pose:
        return self._robot.pose.inv() * self._tcp.entity_pose

    def reset(self) -> None:
        """Command the current pose; the vacuum does not change."""
        self._target_qpos = np.asarray(self._robot.get_qpos(), dtype=np.float64)
        self._target = self._measured()
        self._stay()

    @property
    def qpos(self) -> np.ndarray:
        """Measured joint angles, (n,)."""
        return self._robot.get_qpos()

    @property
    def qvel(self) -> np.ndarray:
        """Measured joint speeds, (n,)."""
        return self._robot.get_qvel()

    @property
    def target_pose(self) -> Pose:
        """Commanded world pose of the tool center point."""
        return self._robot.pose * self._target

    @property
    def target_qpos(self) -> np.ndarray:
        """Commanded joint angles (n,)."""
        return self._target_qpos

    @property
    def command(self) -> tuple[Pose, np.ndarray]:
        """Commanded pose of the tool center point in the base frame, and joint angles (n,). Set it
        only within an episode, before an action.
        """
        return self._target, self._target_qpos

    @command.setter
    def command(self, command: tuple[Pose, np.ndarray]) -> None:
        self._target, self._target_qpos = command

    @property
    def sim_steps(self) -> int:
        """Physics steps in a control step."""
        return int(self._sim_steps)

    def set_action(self, action: torch.Tensor | np.ndarray) -> None:
        """Move the commanded pose by an action (7,) or (1, 7), unless it is unreachable."""
        values = np.asarray(action, dtype=np.float64).reshape(-1)
        move = np.minimum(np.maximum(values[:6], -1.0), 1.0)
        turn = move[3:] / max(1.0, float(length_np(move[3:])))
        step = rotation_vector_pose(move[:3] * TRANSLATION_M, turn * ROTATION_RAD)
        self.vacuum_on = bool(values[6] > 0)
        pose, near = self._leashed()
        target = pose * step
        rotation = target.q
        target.q = rotation / length_np(rotation)
        qpos = self._kinematics.inverse(target, near)
        start = self._target_qpos
        if qpos is not None and self._kinematics.within_limits(qpos):
            self._target, self._target_qpos = target, qpos
        self._lead_from(start)

    def _lead_from(self, start: np.ndarray) -> None:
        """Interpolate the joint targets of the physics steps from the previous command (n,)."""
        hz, steps = self.control_freq, self._sim_steps
        way = self._target_qpos - start
        speed = way * hz
        # with a velocity target, PhysX drives lead by half a physics step
        ahead = speed * (0.5 / (steps * hz))
        self._course = iter((start + _shares(steps) * way - ahead).tolist())
        for drive, target in zip(self._drives, speed.tolist(), strict=True):
            drive.set_drive_velocity_target(target)

    def before_simulation_step(self) -> None:
        """Set the next joint targets; after the last ones, hold the joints."""
        angles = next(self._course, None)
        if angles is None:
            angles = self._target_qpos.tolist()
            for drive in self._drives:
                drive.set_drive_velocity_target(0.0)
        for drive, angle in zip(self._drives, angles, strict=True):
            drive.set_drive_target(angle)

    def _leashed(self) -> tuple[Pose, np.ndarray]:
        """Return the commanded pose, limited to its largest lead, and joint angles near it."""
        measured = self._measured()
        ahead = measured.inv() * self._target
        way, turn = ahead.p, ahead.q
        w, axis = turn[0], turn[1:]
        distance, sine = float(length_np(way)), length_np(axis)
        angle = 2.0 * float(np.arctan2(sine, abs(w)))
        if distance <= LEASH_M and angle <= LEASH_RAD:
            return self._target, self._target_qpos
        axis = (-axis if w < 0 else axis) / max(float(sine), 1e-12)
        shorten = min(1.0, LEASH_M / max(distance, 1e-12))
        pose = measured * rotation_vector_pose(way * shorten, axis * min(angle, LEASH_RAD))
        return pose, np.asarray(self._robot.get_qpos(), dtype=np.float64)

    def _stay(self) -> None:
        """Hold the commanded joint angles."""
        self._course = iter(())
        self.before_simulation_step()

    def get_state(self) -> dict[str, torch.Tensor]:
        """Return commanded pose, joint angles and vacuum, each (B, ...) float64."""
        return {
            "target_pose": torch.as_tensor(np.concatenate((self._target.p, self._target.q)))[None],
            "target_qpos": torch.as_tensor(self._target_qpos)[None],
            "vacuum_on": torch.tensor([[self.vacuum_on]], dtype=torch.float64),
        }

    def set_state(self, state: dict[str, torch.Tensor]) -> None:
        """Restore the result of :meth:`get_state`."""
        pose = state["target_pose"][0].double().numpy()
        self._target = Pose(pose[:3], pose[3:])
        self._target_qpos = state["target_qpos"][0].double().numpy().copy()
        self.vacuum_on = bool(state["vacuum_on"][0] > 0)
        self._stay()


@dataclass
class EndEffectorDeltaConfig(ControllerConfig):
    """Configuration of :class:`EndEffectorDeltaController`; the gains track within 1.3 mm."""

    robot_name: str = "xarm6"
    stiffness: float = 5000.0
    damping: float = 100.0
    force_limit: float = 1000.0
    controller_cls: type = field(default=EndEffectorDeltaController)
