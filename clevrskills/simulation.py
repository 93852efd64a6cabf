"""The world of a running simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sapien
import torch
from sapien import Entity
from sapien.physx import (
    PhysxContact,
    PhysxCpuSystem,
    PhysxRigidBaseComponent,
    PhysxRigidDynamicComponent,
)
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
        # pybind gives the same object for the same component as long as it is referred to
        solid = [_solid(entity) for entity in (*self._bodies, table)]
        self._solid = solid
        self._slot_of = {id(component): k for k, component in enumerate(solid) if component}
        self.refresh()

    def refresh(self) -> None:
        """Forget what was read; to be called whenever the simulation moved."""
        self._body_pose: Tensor | None = None
        self._body_velocity: Tensor | None = None
        self._end_effector_pose: Tensor | None = None
        self._touching: dict[tuple[int, int], list[PhysxContact]] | None = None
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

    def _pairs(self) -> dict[tuple[int, int], list[PhysxContact]]:
        """The contacts of the last physics step by pair of slots; the table comes after the last
        slot.
        """
        if self._touching is None:
            self._touching = {}
            for contact in self._physics.get_contacts():
                one, other = (self._slot_of.get(id(body)) for body in contact.bodies)
                if one is not None and other is not None:
                    self._touching.setdefault((one, other), []).append(contact)
        return self._touching

    def _lift(self, upper: int, lower: int) -> float:
        """Upward impulse in the last physics step on one slot from another, in N s."""
        pairs = self._pairs()
        up = sum(float(p.impulse[2]) for c in pairs.get((upper, lower), ()) for p in c.points)
        down = sum(float(p.impulse[2]) for c in pairs.get((lower, upper), ()) for p in c.points)
        return up - down

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:  # noqa: D102
        weight = self.at(self.solids.mass, upper) * GRAVITY * self._physics.timestep
        return self._lift(int(upper[0]), int(lower[0])) / weight

    def on_table(self, body: Tensor) -> Tensor:  # noqa: D102
        return torch.tensor([self._lift(int(body[0]), len(self._bodies)) > CONTACT_IMPULSE_NS])

    def contacts(self) -> list[tuple[str, str, float]]:
        """The touching pairs of slot keys (or ``table``) with their least separation in metres,
        negative: overlap.
        """
        names = [*self.keys, "table"]
        return [
            (names[one], names[other], min(float(point.separation) for point in contact.points))
            for (one, other), contacts in self._pairs().items()
            for contact in contacts
            if contact.points
        ]

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


def _solid(entity: Entity | None) -> PhysxRigidBaseComponent | None:
    """The physical side of an entity."""
    return entity.find_component_by_type(PhysxRigidBaseComponent) if entity else None
