"""The world of a running simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
CONTACT_OVERLAP_M = 1e-4
"""Overlap from which they touch: PhysX moves bodies apart without an impulse."""
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
        gripper: Entities of the links that count as the gripper.
        arm: Entities of the other links of the robot.
        place_arm: Puts the arm so that the tool centre point is at a world pose; raises
            ``ValueError`` if it does not reach.
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
        gripper: Sequence[Entity] = (),
        arm: Sequence[Entity] = (),
        place_arm: Callable[[sapien.Pose], None] | None = None,
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
        solid = [_solid(entity) for entity in (*self._bodies, table, *gripper, *arm)]
        self._solid = solid
        self._place_arm = place_arm
        self._table = len(self._bodies)
        self._gripper, self._arm = self._table + 1, self._table + 2
        slots = [*range(self._table + 1), *[self._gripper] * len(gripper), *[self._arm] * len(arm)]
        self._slot_of = {id(c): k for k, c in zip(slots, solid, strict=True) if c}
        self._touched: dict[tuple[int, int], int] = {}
        self._touches_matter = False
        self._steps = 0
        self.refresh()

    def start_control_step(self) -> None:
        """Forget who touched whom in the last control step."""
        self._touched.clear()
        self._steps = 0

    def after_physics_step(self) -> None:
        """Remember who touches whom; from the first time that anything about it is asked, which
        goals do at the start, as it costs a tenth of a step.
        """
        if not self._touches_matter:
            return
        self._steps += 1
        for pair, contacts in self._read_pairs().items():
            if pair not in self._touched and _touch(contacts):
                self._touched |= {pair: self._steps, pair[::-1]: self._steps}

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
    def end_effector_speed(self) -> Tensor:  # noqa: D102
        return torch.as_tensor(self._tcp.linear_velocity).norm()[None]  # type: ignore[attr-defined]

    @property
    def held(self) -> Tensor:  # noqa: D102
        return torch.tensor([self._vacuum.held])

    def _pairs(self) -> dict[tuple[int, int], list[PhysxContact]]:
        """The contacts of the last physics step by pair of slots; the table comes after the last
        slot.
        """
        if self._touching is None:
            self._touching = self._read_pairs()
        return self._touching

    def _read_pairs(self) -> dict[tuple[int, int], list[PhysxContact]]:
        pairs: dict[tuple[int, int], list[PhysxContact]] = {}
        for contact in self._physics.get_contacts():
            one, other = (self._slot_of.get(id(body)) for body in contact.bodies)
            if one is not None and other is not None:
                pairs.setdefault((one, other), []).append(contact)
        return pairs

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
        return torch.tensor([self._lift(int(body[0]), self._table) > CONTACT_IMPULSE_NS])

    def _touch_times(self) -> dict[tuple[int, int], int]:
        """The pairs of slots that touched in the last control step, both ways, and in which physics
        step of it they first did.
        """
        self._touches_matter = True
        return self._touched

    def touches(self, body: Tensor, other: Tensor) -> Tensor:  # noqa: D102
        return torch.tensor([(int(body[0]), int(other[0])) in self._touch_times()])

    def touches_before(self, body: Tensor, other: Tensor) -> Tensor:  # noqa: D102
        slot, robot = int(body[0]), (self._gripper, self._arm)
        touched = {two: k for (one, two), k in self._touch_times().items() if one == slot}
        last = touched.pop(int(other[0]), self._steps + 1)
        return torch.tensor([any(k < last for two, k in touched.items() if two not in robot)])

    def gripper_touches(self, body: Tensor) -> Tensor:  # noqa: D102
        return torch.tensor([(int(body[0]), self._gripper) in self._touch_times()])

    def robot_touches(self, body: Tensor) -> Tensor:  # noqa: D102
        return self.gripper_touches(body) | ((int(body[0]), self._arm) in self._touch_times())

    def contacts(self) -> list[tuple[str, str, float]]:
        """The touching pairs of slot keys (or ``table``) with their least separation in metres,
        negative: overlap.
        """
        names = [*self.keys, "table", "gripper", "arm"]
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

    def set_end_effector_pose(self, pose: Tensor, where: Tensor | None = None) -> None:  # noqa: D102
        if where is not None and not bool(where[0]):
            return
        if self._place_arm is None:
            raise ValueError("there is no arm to be put")
        before = self._tcp.entity.pose  # type: ignore[attr-defined]
        values = pose[0].double().numpy()
        self._place_arm(sapien.Pose(values[:3], values[3:]))
        if self._vacuum.held >= 0:
            entity = self._bodies[self._vacuum.held]
            assert entity is not None
            entity.set_pose(self._tcp.entity.pose * before.inv() * entity.pose)  # type: ignore[attr-defined]
        self.refresh()

    def hold(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:  # noqa: D102
        if where is not None and not bool(where[0]):
            return
        self.set_body_pose(body, pose)
        self._vacuum.take(self, int(body[0]))


def _touch(contacts: Iterable[PhysxContact]) -> bool:
    """Whether bodies press on each other or overlap."""
    pressed = 0.0
    for contact in contacts:
        for point in contact.points:
            # plain numbers: those of numpy take ten times as long
            pressed += sum(map(abs, point.impulse.tolist()))
            if pressed > CONTACT_IMPULSE_NS or point.separation < -CONTACT_OVERLAP_M:
                return True
    return False


def _solid(entity: Entity | None) -> PhysxRigidBaseComponent | None:
    """The physical side of an entity."""
    return entity.find_component_by_type(PhysxRigidBaseComponent) if entity else None
