"""The world of a running simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sapien
import torch
from sapien import Entity
from sapien.physx import PhysxCpuSystem, PhysxRigidDynamicComponent
from torch import Tensor

from clevrskills.robots.vacuum import Vacuum
from clevrskills.world import GRAVITY, Solids, World

CONTACT_IMPULSE_NS = 1e-5
"""Impulse per physics step from which two bodies touch."""
PARKED = np.array([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0])
"""Pose reported for empty slots."""


class SimWorld(World):
    """Reads one CPU simulation; what it read is kept until :meth:`refresh`.

    Args:
        keys: Names of the body slots.
        solids: Geometry of the bodies, B = 1.
        bodies: Entities of the slots, ``None`` for empty ones.
        table: Entity of the table.
        tcp: Tool centre point link of the robot.
        vacuum: The gripper.
        physics: The physics system.
    """

    def __init__(
        self,
        keys: Sequence[str],
        solids: Solids,
        bodies: Sequence[Entity | None],
        table: Entity,
        tcp: object,
        vacuum: Vacuum,
        physics: PhysxCpuSystem,
    ) -> None:
        super().__init__(keys, solids, vacuum.tips)
        self._bodies = list(bodies)
        self._components = [
            entity.find_component_by_type(PhysxRigidDynamicComponent) if entity else None
            for entity in self._bodies
        ]
        self._tcp = tcp
        self._vacuum = vacuum
        self._physics = physics
        self._slot_of = {e.per_scene_id: k for k, e in enumerate(self._bodies) if e}
        self._slot_of[table.per_scene_id] = len(self._bodies)
        self.refresh()

    def refresh(self) -> None:
        """Forget what was read; to be called whenever the simulation moved."""
        self._body_pose: Tensor | None = None
        self._body_velocity: Tensor | None = None
        self._end_effector_pose: Tensor | None = None
        self._lift: np.ndarray | None = None
        self.moved()

    @property
    def body_pose(self) -> Tensor:  # noqa: D102
        if self._body_pose is None:
            rows = [
                PARKED if e is None else np.concatenate((e.pose.p, e.pose.q)) for e in self._bodies
            ]
            self._body_pose = torch.as_tensor(np.stack(rows), dtype=torch.float32)[None]
        return self._body_pose

    @property
    def body_velocity(self) -> Tensor:  # noqa: D102
        if self._body_velocity is None:
            rows = [
                np.zeros(6)
                if c is None
                else np.concatenate((c.linear_velocity, c.angular_velocity))
                for c in self._components
            ]
            self._body_velocity = torch.as_tensor(np.stack(rows), dtype=torch.float32)[None]
        return self._body_velocity

    @property
    def end_effector_pose(self) -> Tensor:  # noqa: D102
        if self._end_effector_pose is None:
            pose = self._tcp.entity.pose  # type: ignore[attr-defined]
            values = np.concatenate((pose.p, pose.q))
            self._end_effector_pose = torch.as_tensor(values, dtype=torch.float32)[None]
        return self._end_effector_pose

    @property
    def held(self) -> Tensor:  # noqa: D102
        return torch.tensor([self._vacuum.held])

    def _lifts(self) -> np.ndarray:
        """Upward impulse in the last physics step on the first body from the second, (K + 1, K +
        1); last: the table.
        """
        if self._lift is None:
            size = len(self._bodies) + 1
            lift = np.zeros((size, size))
            for contact in self._physics.get_contacts():
                one, other = (self._slot_of.get(b.entity.per_scene_id) for b in contact.bodies)
                if one is None or other is None:
                    continue
                up = float(sum(point.impulse[2] for point in contact.points))
                lift[one, other] += up
                lift[other, one] -= up
            self._lift = lift
        return self._lift

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:  # noqa: D102
        weight = self.at(self.solids.mass, upper) * GRAVITY * self._physics.timestep
        lift = self._lifts()[upper.numpy(), lower.numpy()]
        return torch.as_tensor(lift, dtype=torch.float32) / weight

    def on_table(self, body: Tensor) -> Tensor:  # noqa: D102
        return torch.as_tensor(self._lifts()[body.numpy(), -1] > CONTACT_IMPULSE_NS)

    def contacts(self) -> list[tuple[str, str, float]]:
        """The touching pairs of slot keys (or ``table``) with their least separation in metres,
        negative: overlap.
        """
        names = [*self.keys, "table"]
        pairs = []
        for contact in self._physics.get_contacts():
            one, other = (self._slot_of.get(b.entity.per_scene_id) for b in contact.bodies)
            if one is not None and other is not None and contact.points:
                gap = min(point.separation for point in contact.points)
                pairs.append((names[one], names[other], float(gap)))
        return pairs

    def set_body_pose(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:  # noqa: D102
        if where is not None and not bool(where[0]):
            return
        slot = int(body[0])
        if self._vacuum.held == slot:
            self._vacuum.release()
        entity, component = self._bodies[slot], self._components[slot]
        if entity is None or component is None:
            raise ValueError(f"{self.keys[slot]} cannot be moved")
        values = pose[0].double().numpy()
        entity.set_pose(sapien.Pose(values[:3], values[3:]))
        component.linear_velocity = np.zeros(3)
        component.angular_velocity = np.zeros(3)
        component.wake_up()
        self.refresh()

    def hold(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:  # noqa: D102
        if where is not None and not bool(where[0]):
            return
        self.set_body_pose(body, pose)
        self._vacuum.take(self, int(body[0]))
