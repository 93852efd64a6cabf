"""Kinematics and delta end-effector control of many equal arms at once."""

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.robots.controller import LEASH_M, LEASH_RAD
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M
from clevrskills.sim.robots.description import robot
from clevrskills.sim.robots.geometry import Joint

IK_STEPS = 10
IK_DAMPING = 1e-6
IK_TURN_RAD = 0.3
"""The most that a joint is turned in a step, lest arms that are stretched out fold over."""
IK_ERROR = 1e-4
"""Norm of what may be left, in metres and radians, for a pose to be reached; as on the CPU."""


class Arm:
    """Forward and inverse kinematics, in the frame of the base.

    One pass gives pose and Jacobian in some twenty tensor operations; with pytorch_kinematics they
    are hundreds, which on a GPU take longer than the physics.

    Args:
        robot_name: Key of the robot.
        device: Where the tensors are.
    """

    def __init__(self, robot_name: str, device: torch.device | str = "cpu") -> None:
        description = robot(robot_name)
        by_child = {joint.child: joint for joint in description.joints}
        chain: list[Joint] = []
        link = description.tcp_link
        while link in by_child:
            chain.insert(0, by_child[link])
            link = chain[0].parent
        before, fixed = [], torch.eye(4)
        for joint in chain:
            fixed = fixed @ _placed(torch.tensor(joint.xyz_m), torch.tensor(joint.rpy_rad))
            if joint.kind == "revolute":
                before.append(fixed)
                fixed = torch.eye(4)
        self._before = torch.stack(before).to(
            device
        )  # of each joint from the one before, (n, 4, 4)
        self._behind = fixed.to(device)
        limits = torch.tensor(description.joint_limits, device=device)
        self._lower, self._upper = limits[:, 0], limits[:, 1]

    def forward(self, qpos: Tensor) -> tuple[Tensor, Tensor]:
        """TCP (B, 4, 4) at joint angles (B, n); its Jacobian (B, 6, n), linear over angular."""
        steps = self._before @ _turned_about_z(qpos)  # (B, n, 4, 4)
        frames = [steps[:, 0]]
        for k in range(1, steps.shape[1]):
            frames.append(frames[-1] @ steps[:, k])
        joints, end = torch.stack(frames, dim=1), frames[-1] @ self._behind
        axis = joints[..., :3, 2]
        arm = end[:, None, :3, 3] - joints[..., :3, 3]
        return end, torch.cat((torch.linalg.cross(axis, arm), axis), dim=-1).mT

    def inverse(self, pose: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        """Allowed joint angles (B, n) for poses (B, 7), from others; where found, (B,) bool."""
        qpos, target = near, geometry.rotation_matrix(pose[:, 3:])
        for _ in range(IK_STEPS):
            end, jacobian = self.forward(qpos)
            gram = jacobian @ jacobian.mT
            gram.diagonal(dim1=-2, dim2=-1).add_(IK_DAMPING)
            way = torch.linalg.solve_ex(gram, _error(end, pose, target))[0]
            turn = (jacobian.mT @ way[..., None])[..., 0]
            most = turn.abs().amax(-1, keepdim=True).clamp(min=IK_TURN_RAD)
            qpos = qpos + turn * (IK_TURN_RAD / most)
        error = _error(self.forward(qpos)[0], pose, target).norm(dim=-1)
        allowed = ((qpos >= self._lower) & (qpos <= self._upper)).all(-1)
        return qpos, (error <= IK_ERROR) & allowed


class DeltaController:
    """Moves the commanded poses of B end effectors by their actions and leads the joints after
    them: what :class:`~clevrskills.sim.robots.controller.EndEffectorDeltaController` does for one.

    Args:
        arm: The kinematics.
        base: Pose of the base in the world, (7,).
        count: How many arms, B.
        sim_steps: Physics steps in a control step.
        control_hz: Control steps in a second.

    Attributes:
        vacuum_on: Whether the vacuum is on, (B,) bool.
        target_pose: Commanded poses in the frame of the base, (B, 7).
        target_qpos: Commanded joint angles, (B, n).
    """

    def __init__(
        self, arm: Arm, base: Tensor, count: int, sim_steps: int, control_hz: float
    ) -> None:
        joints = len(arm._lower)
        self._arm, self._to_base = arm, geometry.invert(base)
        self._sim_steps, self._control_hz = sim_steps, control_hz
        self.vacuum_on = torch.zeros(count, dtype=torch.bool, device=base.device)
        self.target_pose = base.new_zeros(count, 7)
        self.target_qpos = base.new_zeros(count, joints)
        self._from_qpos = self.target_qpos
        self._elapsed = sim_steps

    def reset(self, where: Tensor, qpos: Tensor, tcp: Tensor, vacuum_on: Tensor) -> None:
        """Command, ``where`` (B,) is true, joints (B, n) and TCP poses (B, 7) as they are now."""
        chosen = where[:, None]
        self.target_pose = torch.where(chosen, self._measured(tcp), self.target_pose)
        self.target_qpos = torch.where(chosen, qpos, self.target_qpos)
        self._from_qpos = torch.where(chosen, qpos, self._from_qpos)
        self.vacuum_on = torch.where(where, vacuum_on, self.vacuum_on)

    def set_action(self, action: Tensor, qpos: Tensor, tcp: Tensor) -> None:
        """Move the commanded poses by actions (B, 7), from joints (B, n) and TCP poses (B, 7)."""
        move = action[:, :6].clamp(-1.0, 1.0)
        turn = move[:, 3:] / move[:, 3:].norm(dim=-1, keepdim=True).clamp(min=1.0)
        step = torch.cat(
            (move[:, :3] * TRANSLATION_M, geometry.rotation_quaternion(turn * ROTATION_RAD)), dim=-1
        )
        self.vacuum_on = action[:, 6] > 0
        pose, near = self._leashed(qpos, self._measured(tcp))
        target = geometry.compose(pose, step)
        target[:, 3:] /= target[:, 3:].norm(dim=-1, keepdim=True)
        found, reached = self._arm.inverse(target, near)
        self._from_qpos, self._elapsed = self.target_qpos, 0
        self.target_pose = torch.where(reached[:, None], target, self.target_pose)
        self.target_qpos = torch.where(reached[:, None], found, self.target_qpos)

    def next_drive(self) -> tuple[Tensor, Tensor]:
        """Joint angles and speeds (B, n) of the next physics step: an even share of the way."""
        self._elapsed += 1
        way = self.target_qpos - self._from_qpos
        if self._elapsed > self._sim_steps:
            return self.target_qpos, torch.zeros_like(way)
        # with a speed to follow, PhysX's drives run ahead by half a physics step
        part = (self._elapsed - 0.5) / self._sim_steps
        return self._from_qpos + part * way, way * self._control_hz

    def _measured(self, tcp: Tensor) -> Tensor:
        return geometry.compose(self._to_base.expand_as(tcp), tcp)

    def _leashed(self, qpos: Tensor, measured: Tensor) -> tuple[Tensor, Tensor]:
        """The commanded poses, pulled back where they ran ahead, and joint angles near them."""
        ahead = geometry.compose(geometry.invert(measured), self.target_pose)
        turn = geometry.rotation_vector(ahead[:, 3:])
        distance = ahead[:, :3].norm(dim=-1, keepdim=True)
        angle = turn.norm(dim=-1, keepdim=True)
        moved = ahead[:, :3] * (LEASH_M / distance.clamp(min=LEASH_M))
        turned = geometry.rotation_quaternion(turn * (LEASH_RAD / angle.clamp(min=LEASH_RAD)))
        pulled = geometry.compose(measured, torch.cat((moved, turned), dim=-1))
        free = (distance <= LEASH_M) & (angle <= LEASH_RAD)
        pose = torch.where(free, self.target_pose, pulled)
        return pose, torch.where(free, self.target_qpos, qpos)


def _error(end: Tensor, pose: Tensor, target: Tensor) -> Tensor:
    """What is left to move and turn, (B, 6), from end effectors (B, 4, 4) to poses (B, 7)."""
    turn = target @ end[:, :3, :3].mT
    skew = (turn - turn.mT) / 2  # sine of the angle times the axis
    left = torch.stack((skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]), dim=-1)
    return torch.cat((pose[:, :3] - end[:, :3, 3], left), dim=-1)


def _placed(xyz: Tensor, rpy: Tensor) -> Tensor:
    """The transform (4, 4) of a position and URDF's roll, pitch and yaw."""
    half = rpy / 2
    about = torch.cat((half.cos()[:, None], torch.eye(3) * half.sin()[:, None]), dim=-1)
    turn = geometry.quaternion_multiply(about[2], geometry.quaternion_multiply(about[1], about[0]))
    out = torch.eye(4)
    out[:3, :3], out[:3, 3] = geometry.rotation_matrix(turn), xyz
    return out


def _turned_about_z(angle: Tensor) -> Tensor:
    """Transforms (..., 4, 4) of turns about z, (...)."""
    out = torch.eye(4, device=angle.device).repeat(*angle.shape, 1, 1)
    out[..., 0, 0] = out[..., 1, 1] = angle.cos()
    out[..., 1, 0], out[..., 0, 1] = angle.sin(), -angle.sin()
    return out
