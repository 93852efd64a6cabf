"""The vacuum grippers of many environments, as forces that are computed for each physics step.

In a simulation on a GPU nothing can be joined while it runs. So the drive by which
:class:`~clevrskills.sim.robots.vacuum.Vacuum` holds a body is replaced by the forces that it would
apply: springs and dampers of the same stiffness and the same limits, between where the body's
centre of mass is and where it would be if it were fixed to the gripper.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.robots.vacuum import (
    DAMPING_NS_PER_M,
    FORCE_PER_CUP_N,
    SLIP_M,
    SLIP_RAD,
    STIFFNESS_N_PER_M,
    TORQUE_PER_CUP_NM,
    TURN_DAMPING_NMS,
    TURN_STIFFNESS_NM,
)
from clevrskills.sim.world import GRAVITY


@dataclass(frozen=True)
class Inertia:
    """Mass and inertia of bodies.

    Attributes:
        mass: Kilograms, (...).
        moments: About the principal axes, kg m^2, (..., 3).
        axes: Centre of mass and principal axes in the body's frame, poses (..., 7).
    """

    mass: Tensor
    moments: Tensor
    axes: Tensor

    def of(self, rows: Tensor, body: Tensor) -> Inertia:
        """Those of one body of each environment."""
        return Inertia(self.mass[rows, body], self.moments[rows, body], self.axes[rows, body])


@dataclass
class Vacuum:
    """What each gripper holds, and how.

    Attributes:
        held: Slot of the body, -1 for none, (B,).
        cups: How many cups seal on it, (B,).
        grip: Its pose in the frame of the tool centre point, (B, 7).
    """

    held: Tensor
    cups: Tensor
    grip: Tensor

    @classmethod
    def empty(cls, count: int, device: torch.device | str = "cpu") -> Vacuum:
        """Grippers that hold nothing."""
        held = torch.full((count,), -1, device=device)
        return cls(held, torch.zeros_like(held), torch.zeros(count, 7, device=device))

    def release(self, where: Tensor) -> None:
        """Let go in the environments ``where`` (B,) is true."""
        self.held = torch.where(where, -1, self.held)

    def take(self, rows: Tensor, body: Tensor, cups: Tensor, grip: Tensor) -> None:
        """Hold bodies (n,) in environments (n,) with cups (n,), in the TCP's frame at (n, 7)."""
        self.held, self.cups, self.grip = (
            value.index_copy(0, rows, taken)
            for value, taken in ((self.held, body), (self.cups, cups), (self.grip, grip))
        )

    def release_slipped(self, tcp: Tensor, pose: Tensor) -> None:
        """Let go of what was pulled out of place, by poses (B, 7) of the TCP and the bodies."""
        off = geometry.compose(geometry.invert(geometry.compose(tcp, self.grip)), pose)
        turned = geometry.rotation_vector(off[:, 3:]).norm(dim=-1) > SLIP_RAD
        self.release((off[:, :3].norm(dim=-1) > SLIP_M) | turned)

    def pull(
        self, tcp: Tensor, speed: Tensor, body: Tensor, inertia: Inertia, step_s: float
    ) -> Tensor:
        """Force at the centre of mass and torque on what is held, (B, 6), else none.

        Args:
            tcp: World poses of the tool centre points, (B, 7).
            speed: Their linear and angular velocities, (B, 6).
            body: Poses, velocities of the centre of mass and angular velocities of the held bodies,
                (B, 13).
            inertia: Of the held bodies.
            step_s: Physics time step.
        """
        grip = geometry.compose(tcp, self.grip)
        axes, target = (geometry.compose(pose, inertia.axes) for pose in (body[:, :7], grip))
        off, arm = way(target, axes), target[:, :3] - tcp[:, :3]
        rate = body[:, 7:] - speed
        rate[:, :3] -= torch.linalg.cross(speed[:, 3:], arm)
        rate[:, 2] -= GRAVITY * step_s  # what it will be if nothing holds it

        def spring(
            part: slice, stiffness: float, damping: float, limit: float, frame: Tensor, mass: Tensor
        ) -> Tensor:
            # the force at the end of the step: that of its start would shake a light body off
            back = geometry.quaternion_conjugate(frame)
            drag = step_s * stiffness + damping
            force = -geometry.rotate(back, stiffness * off[:, part] + drag * rate[:, part])
            force = force / (1.0 + step_s * drag / mass)
            most = limit * self.cups[:, None] * (self.held >= 0)[:, None]
            return geometry.rotate(frame, force.clamp(-most, most))

        linear = (STIFFNESS_N_PER_M, DAMPING_NS_PER_M, FORCE_PER_CUP_N)
        angular = (TURN_STIFFNESS_NM, TURN_DAMPING_NMS, TORQUE_PER_CUP_NM)
        force = spring(slice(3), *linear, grip[:, 3:], inertia.mass[:, None])
        torque = spring(slice(3, 6), *angular, axes[:, 3:], inertia.moments)
        return torch.cat((force, torque), dim=-1)


def joint_torques(pull: Tensor, arm: Tensor, jacobian: Tensor) -> Tensor:
    """Torques of the joints, N m, (B, n), against a pull (B, 6) with an arm (B, 3) at the TCP."""
    moment = pull[:, 3:] + torch.linalg.cross(arm, pull[:, :3])
    back = -torch.cat((pull[:, :3], moment), dim=-1)
    return (jacobian.mT @ back[..., None])[..., 0]


def way(start: Tensor, end: Tensor) -> Tensor:
    """Translation and rotation vector from poses (B, 7) to others, in world axes, (B, 6)."""
    turn = geometry.quaternion_multiply(end[:, 3:], geometry.quaternion_conjugate(start[:, 3:]))
    return torch.cat((end[:, :3] - start[:, :3], geometry.rotation_vector(turn)), dim=-1)
