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
PARKED = np.array([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0], np.float32)
"""Pose reported for empty slots."""


class SimWorld(World):
    """Reads one CPU simulation; what it read is kept until :meth:`moved`.

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
        self.moved()

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

    @property
    def body_pose(self) -> Tensor:  # noqa: D102
        return self.once("pose", SimWorld._read_poses)

    def _read_poses(self) -> Tensor:
        poses = np.tile(PARKED, (len(self._bodies), 1))
        for row, entity in zip(poses, self._bodies, strict=True):
            if entity is not None:
                pose = entity.pose
                row[:3], row[3:] = pose.p, pose.q
        return torch.from_numpy(poses)[None]

    @property
    def body_velocity(self) -> Tensor:  # noqa: D102
        return self.once("velocity", SimWorld._read_velocities)

    def _read_velocities(self) -> Tensor:
        velocities = np.zeros((len(self._components), 6), np.float32)
        for row, component in zip(velocities, self._components, strict=True):
            if component is not None:
                row[:3], row[3:] = component.linear_velocity, component.angular_velocity
        return torch.from_numpy(velocities)[None]

    @property
    def end_effector_pose(self) -> Tensor:  # noqa: D102
        return self._of_each(self.once("end effector", SimWorld._read_end_effector))

    def _read_end_effector(self) -> Tensor:
        pose = self._tcp.entity.pose  # type: ignore[attr-defined]
        return torch.from_numpy(np.concatenate((pose.p, pose.q), dtype=np.float32))[None]

    @property
    def end_effector_speed(self) -> Tensor:  # noqa: D102
        speed = torch.as_tensor(self._tcp.linear_velocity).norm()[None]  # type: ignore[attr-defined]
        return self._of_each(speed)

    @property
    def held(self) -> Tensor:  # noqa: D102
        return torch.full((self.num_envs,), self._vacuum.held)

    def _pairs(self) -> dict[tuple[int, int], list[PhysxContact]]:
        """The contacts of the last physics step by pair of slots; the table comes after the last
        slot.
        """
        return self.once("contacts", SimWorld._read_pairs)

    def _read_pairs(self) -> dict[tuple[int, int], list[PhysxContact]]:
        pairs: dict[tuple[int, int], list[PhysxContact]] = {}
        for contact in self._physics.get_contacts():
            one, other = (self._slot_of.get(id(body)) for body in contact.bodies)
            if one is not None and other is not None:
                pairs.setdefault((one, other), []).append(contact)
        return pairs

    def _lift(self, upper: Tensor, lower: Tensor) -> Tensor:
        """Upward impulse in the last physics step on slots from others, in N s, (B,)."""
        pairs = self._pairs()

        def up(one: int, other: int) -> float:
            points = (point for c in pairs.get((one, other), ()) for point in c.points)
            return sum(float(point.impulse[2]) for point in points)

        both = zip(upper.tolist(), lower.tolist(), strict=True)
        return torch.tensor([up(one, other) - up(other, one) for one, other in both])

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:  # noqa: D102
        weight = self.at(self.solids.mass, upper) * (GRAVITY * self._physics.timestep)
        return self._lift(upper, lower) / weight

    def on_table(self, body: Tensor) -> Tensor:  # noqa: D102
        return self._lift(body, torch.full_like(body, self._table)) > CONTACT_IMPULSE_NS

    def _touch_times(self) -> dict[tuple[int, int], int]:
        """The pairs of slots that touched in the last control step, both ways, and in which physics
        step of it they first did.
        """
        (self._repeated or self)._touches_matter = True
        return self._touched

    def touches(self, body: Tensor, other: Tensor) -> Tensor:  # noqa: D102
        touched, pairs = self._touch_times(), zip(body.tolist(), other.tolist(), strict=True)
        return torch.tensor([pair in touched for pair in pairs])

    def touches_before(self, body: Tensor, other: Tensor) -> Tensor:  # noqa: D102
        robot, times = (self._gripper, self._arm), self._touch_times().items()

        def before(slot: int, last: int) -> bool:
            touched = {two: k for (one, two), k in times if one == slot and two not in robot}
            least = touched.pop(last, self._steps + 1)
            return any(k < least for k in touched.values())

        return torch.tensor(list(map(before, body.tolist(), other.tolist())))

    def gripper_touches(self, body: Tensor) -> Tensor:  # noqa: D102
        return self.touches(body, torch.full_like(body, self._gripper))

    def robot_touches(self, body: Tensor) -> Tensor:  # noqa: D102
        return self.gripper_touches(body) | self.touches(body, torch.full_like(body, self._arm))

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
        self.moved()

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
        self.moved()

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
