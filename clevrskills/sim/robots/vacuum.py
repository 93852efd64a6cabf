"""Vacuum gripper: a force-limited attachment that forms only where a cup touches."""

from functools import cache

import numpy as np
import torch
from sapien import Entity, Pose
from sapien.physx import PhysxDriveComponent, PhysxRigidDynamicComponent
from torch import Tensor

from clevrskills.sim.robots.description import RobotDescription
from clevrskills.sim.suction import cup_samples

FORCE_PER_CUP_N = 20.0
"""Pull of one sealed cup (released code: 20 N per cup)."""
TORQUE_PER_CUP_NM = 0.4
"""Torque resisted by one sealed cup; a modeling choice, about 20 N at the span of the cups."""
STIFFNESS_N_PER_M, DAMPING_NS_PER_M = 2e4, 2e2
TURN_STIFFNESS_NM, TURN_DAMPING_NMS = 1e3, 1e1
SLIP_M, SLIP_RAD = 0.012, 0.3
"""Displacement of a held object at which the cups release it."""


class Vacuum:
    """Vacuum gripper that holds at most one body by a force-limited drive.

    Args:
        description: The robot.
        tcp: Tool center point, a SAPIEN articulation link.
        bodies: Entities of the slots; ``None`` for empty slots.
        timestep_s: Physics time step.
    """

    def __init__(
        self,
        description: RobotDescription,
        tcp: object,
        bodies: list[Entity | None],
        timestep_s: float,
    ) -> None:
        self._tcp = tcp
        self._bodies = bodies
        self._timestep_s = timestep_s
        cups = (description.cup_centers, description.cup_tip_z, description.cup_radius)
        self.tips, self.samples = _tips_and_samples(*cups)  # (N, 3), (N, S, 3)
        self.held = -1
        self._cups = 0
        self._grip = Pose()
        self._drive: PhysxDriveComponent | None = None

    def release_slipped(self) -> None:
        """Release the held body if it was displaced too far."""
        off = self._grip.inv() * self._present(self.held)
        angle = 2.0 * np.arctan2(np.linalg.norm(off.q[1:]), abs(off.q[0]))
        if np.linalg.norm(off.p) > SLIP_M or angle > SLIP_RAD:
            self.release()

    def take(self, body: int, cups: int, distance_m: float) -> None:
        """Hold a body with some sealed cups at a distance from it."""
        # the lips close gaps and give way where they are pressed in
        self.attach(body, cups, Pose([0, 0, -distance_m]) * self._present(body))

    def _present(self, body: int) -> Pose:
        """Return the pose of a body in the frame of the tool center point."""
        entity = self._bodies[body]
        assert entity is not None
        return self._tcp.entity.pose.inv() * entity.pose  # type: ignore[attr-defined]

    def attach(self, body: int, cups: int, grip: Pose) -> None:
        """Hold a body with some sealed cups at a pose relative to the tool center point."""
        self.release()
        entity = self._bodies[body]
        assert entity is not None
        self._grip = grip
        drive = PhysxDriveComponent(entity.find_component_by_type(PhysxRigidDynamicComponent))
        drive.parent = self._tcp
        drive.pose_in_parent = self._grip
        drive.pose_in_child = Pose()
        # drive limits are impulses per physics step, not forces
        force = FORCE_PER_CUP_N * cups * self._timestep_s
        torque = TORQUE_PER_CUP_NM * cups * self._timestep_s
        for axis in "xyz":
            setter = getattr(drive, f"set_drive_property_{axis}")
            setter(STIFFNESS_N_PER_M, DAMPING_NS_PER_M, force, "force")
        drive.set_drive_property_slerp(TURN_STIFFNESS_NM, TURN_DAMPING_NMS, torque, "force")
        entity.add_component(drive)
        self._drive, self.held, self._cups = drive, body, cups

    def release(self) -> None:
        """Release the held body, which keeps its velocity."""
        if self._drive is not None:
            entity = self._bodies[self.held]
            assert entity is not None
            entity.remove_component(self._drive)
            entity.find_component_by_type(PhysxRigidDynamicComponent).wake_up()
        self._drive, self.held, self._cups = None, -1, 0

    def state(self) -> Tensor:
        """Return held slot, number of cups and pose relative to the TCP, (1, 9) float64."""
        return torch.as_tensor(
            np.concatenate(([self.held, self._cups], self._grip.p, self._grip.q)),
            dtype=torch.float64,
        )[None]

    def restore(self, state: Tensor) -> None:
        """Restore the result of :meth:`state`."""
        values = state[0].double().numpy()
        self.release()
        self._grip = Pose(values[2:5], values[5:9])
        if values[0] >= 0:
            self.attach(int(values[0]), int(values[1]), self._grip)


@cache
def _tips_and_samples(
    centers: tuple[tuple[float, float], ...], tip_z: float, radius_m: float
) -> tuple[Tensor, Tensor]:
    """Return the centers of the cup rims and the sample points of the cups."""
    tips = torch.tensor([(x, y, tip_z) for x, y in centers], dtype=torch.float32)
    return tips, cup_samples(tips, radius_m)
