"""Simulation of one scene on the CPU, and the world that steps and reads several simulations."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

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

from clevrskills.core import geometry
from clevrskills.core.goal.context import broadcast_slots
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.robots.agent import VacuumAgent
from clevrskills.sim.robots.controller import EndEffectorDeltaController
from clevrskills.sim.robots.vacuum import Vacuum
from clevrskills.sim.suction import sealed_cups
from clevrskills.sim.world import GRAVITY, World

SIM_HZ = 100
"""Physics steps per second."""
SETTLE_STEPS = 60
"""Most physics steps for which a scene settles."""
SLEEP_STEPS = 42
"""Physics steps after which resting bodies fall asleep."""
CONTACT_IMPULSE_NS = 1e-5
"""Smallest impulse per physics step that counts as contact."""
CONTACT_OVERLAP_M = 1e-4
"""Smallest overlap that counts as contact, as PhysX separates bodies without an impulse."""
PARKED = np.array([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0], np.float32)
"""Pose reported for empty slots."""
AT_REST = np.zeros(6, np.float32)
"""Velocity of static bodies."""
PACKED_POSE, PACKED_VELOCITY = np.array([4, 5, 6, 0, 1, 2, 3]), np.arange(7, 13)
"""Indices of position and quaternion, and of linear and angular velocity, in the 13 numbers that
SAPIEN packs per body; per entity it packs the first 7."""

CUP_MARGIN_M = 0.03
"""Margin larger than the radius of a cup plus the gap that it closes."""

Contacts = dict[tuple[int, int], list[PhysxContact]]
"""Contacts of a physics step by pair of slots; the table follows the last slot."""


class Simulation:
    """Simulation of one scene on the CPU, with bodies addressed by slot.

    Args:
        keys: Names of the body slots.
        bodies: Entities of the slots, ``None`` for empty slots.
        table: Entity of the table.
        agent: The arm.
        vacuum: The gripper.
        physics: The physics system.
    """

    def __init__(
        self,
        keys: Sequence[str],
        bodies: Sequence[Entity | None],
        table: Entity,
        agent: VacuumAgent,
        vacuum: Vacuum,
        physics: PhysxCpuSystem,
    ) -> None:
        self.keys, self.bodies = tuple(keys), list(bodies)
        self.components = [
            entity.find_component_by_type(PhysxRigidDynamicComponent) if entity else None
            for entity in self.bodies
        ]
        self.controller: EndEffectorDeltaController = agent.controller
        self.vacuum, self.timestep_s = vacuum, physics.timestep
        self._agent, self._tcp, self._physics = agent, agent.tcp._objs[0], physics
        self._scene = table.scene
        entities, moving = self._scene.entities, physics.rigid_dynamic_components
        self._moving = [(c, 13 * moving.index(c)) for c in self.components if c]
        # positions of poses and velocities in SAPIEN's packed arrays, preceded by those of empty
        # slots
        self._pose_index = np.concatenate(
            [
                PACKED_POSE + 7 * (entities.index(entity) + 1) if entity else np.arange(7)
                for entity in (*self.bodies, self._tcp.entity)
            ]
        )
        self._velocity_index = np.concatenate(
            [
                PACKED_VELOCITY + 13 * moving.index(c) + 6 if c else np.arange(6)
                for c in self.components
            ]
        )
        state = np.concatenate((PACKED_POSE, PACKED_VELOCITY))
        self._state_index = np.array([k + state for _, k in self._moving], int).reshape(-1)
        gripper = [link._objs[0] for link in (agent.gripper, agent.tcp)]
        arm = [link for link in agent.robot._objs[0].links if link not in gripper]
        # pybind returns the same object for a component as long as a reference exists
        solids = [e and e.find_component_by_type(PhysxRigidBaseComponent) for e in self.bodies]
        solids.append(table.find_component_by_type(PhysxRigidBaseComponent))
        self._solid = [*solids, *gripper, *arm]
        self.table = len(self.bodies)
        self.gripper, self.arm = self.table + 1, self.table + 2
        slots = [*range(self.table + 1), *[self.gripper] * len(gripper), *[self.arm] * len(arm)]
        self._slot_of = {id(c): k for k, c in zip(slots, self._solid, strict=True) if c}
        self.touched: dict[tuple[int, int], int] = {}
        """First physics step of contact in the last control step, by pair of slots in both
        orders."""
        self.track_contacts = False
        """Flag that enables recording of :attr:`touched`; it costs a tenth of a step."""
        self.noticed: set[tuple[int, int]] = set()
        """Pairs of slots in contact during the last control step, in both orders, for watchers; not
        part of the state."""
        self.log_contacts = False
        """Flag that enables recording of :attr:`noticed`."""
        self.strikes: dict[int, float] = {}
        """Strike speed in m/s of the slots touched by the gripper in the last control step, see
        :meth:`~clevrskills.sim.world.World.strike_speed`."""
        self._places: list[np.ndarray] = []
        """Gripper positions before and after each physics step of the last control step."""
        self._steps = 0
        # of the last physics step, computed on demand
        self._contacts: Contacts | None = None
        self._lift: np.ndarray | None = None
        self._restored: dict[str, np.ndarray] | None = None

    def step(self, action: np.ndarray) -> None:
        """Run the physics of one control step with an action (7,); see :meth:`SimWorld.step` for
        the whole step.

        Raises:
            ValueError: The action has entries that are not finite.
            ClevrSkillsError: The physics diverged.
        """
        if not all(map(math.isfinite, action)):
            raise ValueError(f"action {np.asarray(action).tolist()}; allowed: numbers in [-1, 1]")
        before = self._motion()
        self._run(action)
        if not self._is_finite():
            # PhysX finds no normal for some contacts of two edges and sets poses to NaN; restoring
            # the poses clears its contact cache, which avoids the failure
            self._restore_motion(*before)
            self._run(action)
            if not self._is_finite():
                raise ClevrSkillsError("the physics diverged: poses are not finite")

    def _motion(self) -> tuple[Any, ...]:
        """Return poses and velocities of moving bodies, and the gripper path of the last step."""
        robot, controller = self._agent.robot._objs[0], self.controller
        return self._physics.pack(), robot.qpos, robot.qvel, controller.command, self._places

    def _restore_motion(
        self, packed: bytes, qpos: np.ndarray, qvel: np.ndarray, command: Any, places: Any
    ) -> None:
        """Restore what :meth:`_motion` returned."""
        for component, start in self._moving:
            values = np.frombuffer(packed, np.float32, 13, 4 * start)
            component.entity.set_pose(sapien.Pose(values[4:7], values[:4]))
            component.linear_velocity, component.angular_velocity = values[7:10], values[10:]
        robot = self._agent.robot._objs[0]
        robot.set_qpos(qpos)
        robot.set_qvel(qvel)
        self.controller.command, self._places = command, places

    def _is_finite(self) -> bool:
        """Return whether the poses and velocities of all moving bodies are finite."""
        packed = np.frombuffer(self._physics.pack(), np.float32)
        return math.isfinite(packed.dot(packed))

    def _run(self, action: np.ndarray) -> None:
        """Run the physics steps of a control step."""
        self.controller.set_action(action)
        self.forget_step()
        if self.vacuum.held >= 0 and not self.controller.vacuum_on:
            self.vacuum.release()
        before, self._places = self._places, [self._tcp.entity_pose.p]
        for _ in range(self.controller.sim_steps):
            self.controller.before_simulation_step()
            self._physics.step()
            self._contacts = self._lift = None
            if self.track_contacts:
                self._places.append(self._tcp.entity_pose.p)
            if self.track_contacts or self.log_contacts:
                self._note_touches(before)

    def settle(self, apart: bool = False) -> None:
        """Step until all bodies are asleep; further physics steps then change nothing.

        ``apart``: an episode begins, nothing is hinged, and no body touches another one or the
        arm. An arm that does not move in the first step then falls asleep: half the cost.
        """
        self.forget_step()
        arm, step = self._agent.robot._objs[0], self._physics.step
        base, angles = arm.links[0], arm.qpos
        bodies = [component for component in self.components if component]
        if apart:
            # PhysX solves contacts in the order of a list of awake bodies, in which the last one
            # takes the place of one that falls asleep. The arm must come last to keep the order.
            for one in (base, *bodies):
                one.put_to_sleep()
            for one in (*bodies, base):
                one.wake_up()
        for number in range(SETTLE_STEPS):
            step()
            if apart and number == 0 and np.array_equal(arm.qpos, angles):
                base.put_to_sleep()
            if number >= SLEEP_STEPS and base.sleeping and all(b.is_sleeping for b in bodies):
                return

    def forget_step(self) -> None:
        """Clear contacts and restored state of the last control step."""
        self.touched.clear()
        self.noticed.clear()
        self.strikes.clear()
        self._steps = 0
        self._contacts = self._lift = None
        self._restored = None

    def _note_touches(self, before: list[np.ndarray]) -> None:
        """Record contacts after a physics step, given the gripper positions of the control step
        before.
        """
        self._steps += 1
        for pair, contacts in self.contacts().items():
            unnoticed = self.log_contacts and pair not in self.noticed
            new = self.track_contacts and pair not in self.touched
            struck = self.track_contacts and self.gripper in pair
            if not (unnoticed or new or struck) or not _touch(contacts):
                continue
            if unnoticed:
                self.noticed |= {pair, pair[::-1]}
            if struck:
                slot, track = min(pair), [*before[:-1], *self._places] if new else self._places
                speed = _speed(track, contacts if new else ()) / self.timestep_s
                self.strikes[slot] = max(speed, self.strikes.get(slot, 0.0))
            if new:
                self.touched |= {pair: self._steps, pair[::-1]: self._steps}

    # ---- state ----

    def read_poses(self, out: np.ndarray) -> None:
        """Write world poses of the bodies and, last, of the TCP to an array ((K + 1) * 7,)."""
        packed = np.frombuffer(self._scene.pack_poses(), np.float32)
        np.concatenate((PARKED, packed)).take(self._pose_index, out=out, mode="clip")

    def read_velocities(self, out: np.ndarray) -> None:
        """Write linear and angular velocities of the bodies to an array (K * 6,)."""
        packed = np.frombuffer(self._physics.pack(), np.float32)
        np.concatenate((AT_REST, packed)).take(self._velocity_index, out=out, mode="clip")

    def read_states(self) -> np.ndarray:
        """Return position, quaternion, linear and angular velocity of the dynamic bodies in slot
        order, (n * 13,).
        """
        return np.frombuffer(self._physics.pack(), np.float32).take(self._state_index)

    def end_effector_velocity(self) -> np.ndarray:
        """Return the linear and angular velocity of the tool center point in world axes, (6,)."""
        if self._restored is not None:
            return self._restored["end_effector_velocity"]
        return np.concatenate((self._tcp.linear_velocity, self._tcp.angular_velocity))

    def contacts(self) -> Contacts:
        """Return the contacts of the last physics step."""
        if self._contacts is None:
            self._contacts = {}
            slot_of = self._slot_of
            for contact in self._physics.get_contacts():
                first, second = contact.bodies
                one, other = slot_of.get(id(first)), slot_of.get(id(second))
                if one is not None and other is not None:
                    self._contacts.setdefault((one, other), []).append(contact)
        return self._contacts

    def lift(self) -> np.ndarray:
        """Return the upward impulse in N s on slots (rows) from slots or the table (columns) in the
        last physics step, (K + 1, K + 2); the last row and column are zeros, for slot -1.
        """
        if self._lift is None:
            self._lift = np.zeros((self.table + 1, self.table + 2))
            if self._restored is not None:
                self._lift[:-1, :-1] = self._restored["lift"]
                return self._lift
            contacts = self.contacts()
            for one, other in contacts:
                if max(one, other) <= self.table:
                    up, down = _up(contacts, one, other), _up(contacts, other, one)
                    if one < self.table:
                        self._lift[one, other] = up - down
                    if other < self.table:
                        self._lift[other, one] = down - up
        return self._lift

    def piled(self) -> bool:
        """Return whether two dynamic bodies are in contact."""
        pairs: Iterable[tuple[int, int]] = self.contacts()
        if self._restored is not None:
            pairs = zip(*self._restored["lift"].nonzero(), strict=True)
        free, table = self.components, self.table
        return any(a < table and b < table and free[a] and free[b] for a, b in pairs)

    def touched_before(self, slot: int, last: int) -> bool:
        """Return whether a body touched a non-robot slot other than ``last`` earlier than it."""
        robot = (self.gripper, self.arm)
        found = {
            two: k for (one, two), k in self.touched.items() if one == slot and two not in robot
        }
        least = found.pop(last, self._steps + 1)
        return any(k < least for k in found.values())

    def touches_body(self, slot: int) -> bool:
        """Return whether a body touched another body in the last control step."""
        return any(one == slot and other < self.table for one, other in self.touched)

    # ---- state of the last control step ----

    def step_state(self) -> dict[str, np.ndarray]:
        """Return the state of the last control step beyond poses and joints: ``lift`` (K, K + 1),
        see :meth:`lift`; ``touched`` (K, K + 3), see :attr:`touched`, 0 for no contact;
        ``end_effector_velocity`` (6,); ``strikes`` (K,), 0 for no contact; ``velocities`` (n * 3,)
        of the gripper in each physics step.
        """
        if self._restored is not None:
            return dict(self._restored)
        touched = np.zeros((self.table, self.arm + 1))
        for (one, other), step in self.touched.items():
            if one < self.table:
                touched[one, other] = step
        strikes = np.zeros(self.table)
        for slot, speed in self.strikes.items():
            if slot < self.table:
                strikes[slot] = speed
        return {
            "lift": self.lift()[:-1, :-1],
            "touched": touched,
            "end_effector_velocity": self.end_effector_velocity(),
            "strikes": strikes,
            "velocities": self._velocities(),
        }

    def restore_step(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the result of :meth:`step_state`, until the next step."""
        self.forget_step()
        shapes = {"lift": (self.table, -1), "touched": (self.table, -1)}
        self._restored = {
            name: np.asarray(values).reshape(shapes.get(name, -1)) for name, values in state.items()
        }
        self._steps = self.controller.sim_steps
        touched = self._restored["touched"]
        for one, other in zip(*touched.nonzero(), strict=True):
            step = int(touched[one, other])
            self.touched |= {(one, other): step, (other, one): step}
        strikes = self._restored["strikes"]
        self.strikes |= {int(slot): float(strikes[slot]) for slot in strikes.nonzero()[0]}
        ways = self._restored["velocities"].reshape(-1, 3) * self.timestep_s
        here = self._tcp.entity_pose.p
        self._places = [here - way for way in np.cumsum(ways[::-1], axis=0)[::-1]] + [here]

    def _velocities(self) -> np.ndarray:
        """Return the gripper velocity in each physics step of the last step, m/s, (n * 3,)."""
        if len(self._places) <= self.controller.sim_steps:  # contacts are not tracked
            return np.zeros(3 * self.controller.sim_steps)
        return np.ravel(np.diff(self._places, axis=0)) / self.timestep_s

    # ---- moving bodies ----

    def move(self, slot: int, pose: sapien.Pose) -> None:
        """Set the world pose of a body, at rest.

        Raises:
            ValueError: The body is static.
        """
        if self.vacuum.held == slot:
            self.vacuum.release()
        entity, component = self.bodies[slot], self.components[slot]
        if entity is None or component is None:
            raise ValueError(f"{self.keys[slot]} cannot be moved")
        entity.set_pose(pose)
        component.linear_velocity = np.zeros(3)
        component.angular_velocity = np.zeros(3)
        component.wake_up()

    def move_arm(self, pose: sapien.Pose) -> None:
        """Move the tool center point and any held body to a world pose.

        Raises:
            ValueError: The pose is unreachable.
        """
        before = self._tcp.entity_pose
        self._agent.place(pose)
        if self.vacuum.held >= 0:
            entity = self.bodies[self.vacuum.held]
            assert entity is not None
            entity.set_pose(self._tcp.entity_pose * before.inv() * entity.pose)


class SimWorld(World):
    """World of simulations, one per environment; values are cached until the world changes.

    In :meth:`World.touches`, the table, the gripper and the rest of the arm follow the slots.

    Args:
        keys: Names of the body slots.
        solids: Geometry of the bodies, B = number of simulations.
        simulations: The simulations.
    """

    def __init__(
        self, keys: Sequence[str], solids: Solids, simulations: Sequence[Simulation]
    ) -> None:
        super().__init__(keys, solids, simulations[0].vacuum.tips)
        self.simulations = list(simulations)
        # impulse that supports a body for a physics step, by environment and slot
        self._weight_ns = (solids.mass * (GRAVITY * simulations[0].timestep_s)).double()

    def step(self, actions: np.ndarray) -> None:
        """Run one control step with actions (B, 7): the physics, then the gripper.

        Raises:
            ValueError: An action has entries that are not finite.
        """
        for simulation, action in zip(self.simulations, actions, strict=True):
            simulation.step(action)
        self.invalidate()
        self._grip()

    def _of(self) -> list[Simulation]:
        """Return the simulation of each row."""
        if self._whole is None:
            return self.simulations
        return [self.simulations[row] for row in self._rows.tolist()]

    @property
    def filled(self) -> Tensor:
        """Mask of slots with a body, ghosts included, (B, K) bool."""
        return torch.tensor([[body is not None for body in s.bodies] for s in self.simulations])

    @property
    def frame(self) -> Tensor:
        rows = len(self.keys) + 1
        return self.cached("frame", lambda w: w._filled(Simulation.read_poses, rows, 7))

    @property
    def body_pose(self) -> Tensor:
        return self.cached("pose", lambda w: w.frame[:, :-1])

    @property
    def body_velocity(self) -> Tensor:
        rows = len(self.keys)
        return self.cached("velocity", lambda w: w._filled(Simulation.read_velocities, rows, 6))

    def _filled(
        self, write: Callable[[Simulation, np.ndarray], None], rows: int, columns: int
    ) -> Tensor:
        """Return values written by the simulations, (B, rows, columns)."""
        values = np.empty((self.num_envs, rows * columns), np.float32)
        for simulation, out in zip(self.simulations, values, strict=True):
            write(simulation, out)
        return torch.from_numpy(values).view(-1, rows, columns)

    @property
    def end_effector_pose(self) -> Tensor:
        return self.select_rows(self.cached("end effector", lambda w: w.frame[:, -1]))

    @property
    def end_effector_velocity(self) -> Tensor:
        """Linear (m/s) and angular (rad/s) velocity of the tool center point, (B, 6)."""
        read = _read(Simulation.end_effector_velocity)
        return self.select_rows(self.cached("end effector velocity", read))

    @property
    def end_effector_speed(self) -> Tensor:
        return geometry.length(self.end_effector_velocity[:, :3])

    def gripper_touches(self, body: Tensor) -> Tensor:
        return self.touches(body, torch.full_like(body, len(self.keys) + 1))

    def robot_touches(self, body: Tensor) -> Tensor:
        arm = torch.full_like(body, len(self.keys) + 2)
        return self.gripper_touches(body) | self.touches(body, arm)

    @property
    def qpos(self) -> Tensor:
        """Joint angles in rad, (B, n)."""
        return self.select_rows(self.cached("qpos", _read(lambda s: s.controller.qpos)))

    @property
    def qvel(self) -> Tensor:
        """Joint speeds in rad/s, (B, n)."""
        return self.select_rows(self.cached("qvel", _read(lambda s: s.controller.qvel)))

    @property
    def vacuum_on(self) -> Tensor:
        """State of the vacuum: on or off, (B,) bool."""
        return _stacked(simulation.controller.vacuum_on for simulation in self._of())

    @property
    def held(self) -> Tensor:
        return self.select_rows(
            self.cached("held", lambda w: _stacked(s.vacuum.held for s in w.simulations))
        )

    def _lift(self, upper: Tensor, lower: Tensor) -> Tensor:
        """Return the upward impulse in N s, float64, on slots from other slots in the last physics
        step; shapes broadcast.
        """
        lifts: Tensor = self.cached(
            "lifts", lambda w: torch.from_numpy(np.array([s.lift() for s in w.simulations]))
        )
        return lifts[self._rows_of(upper, lower), upper, lower]

    def _rows_of(self, *slots: Tensor) -> Tensor:
        """Return the environment of each row in a shape that broadcasts with slots (B, ...)."""
        return self._rows.view(-1, *(1,) * (max(each.ndim for each in slots) - 1))

    def _share(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return :meth:`supports` in float64."""
        return self._lift(upper, lower) / self._weight_ns[self._rows_of(upper), upper]

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        return self._share(lower, upper).float()

    def on_table(self, body: Tensor) -> Tensor:
        return self._lift(body, torch.full_like(body, len(self.keys))) > CONTACT_IMPULSE_NS

    def carries(self, lower: Tensor, upper: Tensor, share: float) -> Tensor:
        return (self._share(lower, upper) >= share) & ~self.on_table(upper)

    def expect_touches(self) -> None:
        for simulation in self.simulations:
            simulation.track_contacts = True

    def _tracked(self) -> list[Simulation]:
        """Return the simulation of each row and enable contact tracking."""
        self.expect_touches()
        return self._of()

    @broadcast_slots
    def touches(self, body: Tensor, other: Tensor) -> Tensor:
        rows = zip(self._tracked(), body.tolist(), other.tolist(), strict=True)
        return _stacked((one, two) in s.touched for s, one, two in rows)

    def touches_before(self, body: Tensor, other: Tensor) -> Tensor:
        rows = zip(self._tracked(), body.tolist(), other.tolist(), strict=True)
        return _stacked(s.touched_before(one, two) for s, one, two in rows)

    @property
    def piled(self) -> bool:
        return any(simulation.piled() for simulation in self.simulations)

    def touches_body(self, body: Tensor) -> Tensor:
        rows = zip(self._tracked(), body.tolist(), strict=True)
        return _stacked(s.touches_body(slot) for s, slot in rows)

    def strike_speed(self, body: Tensor) -> Tensor:
        rows = zip(self._tracked(), body.tolist(), strict=True)
        return _stacked(s.strikes.get(slot, 0.0) for s, slot in rows)

    def contacts(self) -> list[tuple[str, str, float]]:
        """Return the contacts of the first environment: names of both sides and the separation in
        m, negative for overlap.
        """
        names = [*self.keys, "table", "gripper", "arm"]
        return [
            (names[one], names[other], min(float(point.separation) for point in contact.points))
            for (one, other), contacts in self.simulations[0].contacts().items()
            for contact in contacts
            if contact.points
        ]

    def _targets(
        self, pose: Tensor, where: Tensor | None
    ) -> Iterable[tuple[int, Simulation, sapien.Pose]]:
        """Yield each row to be changed with its simulation and target pose."""
        chosen = range(self.num_envs) if where is None else where.nonzero()[:, 0].tolist()
        for row in chosen:
            values = pose[row].double().numpy()
            yield row, self.simulations[row], sapien.Pose(values[:3], values[3:])

    def set_body_pose(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        for row, simulation, target in self._targets(pose, where):
            simulation.move(int(body[row]), target)
        self.invalidate()

    def set_end_effector_pose(self, pose: Tensor, where: Tensor | None = None) -> None:
        for _, simulation, target in self._targets(pose, where):
            simulation.move_arm(target)
        self.invalidate()

    def hold(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        self.set_body_pose(body, pose, where)
        rows = [row for row, _, _ in self._targets(pose, where)]
        self._take(rows, [int(body[row]) for row in rows])

    def _grip(self) -> None:
        """Release bodies that slipped, and hold bodies that a cup touches."""
        seeking = []
        for row, simulation in enumerate(self.simulations):
            vacuum = simulation.vacuum
            if vacuum.held >= 0:
                vacuum.release_slipped()
            elif simulation.controller.vacuum_on:
                seeking.append(row)
        if not seeking:
            return
        # whether a cup could seal on any movable body, by bounding spheres
        away = geometry.length(self.offset[:, :, 0])
        near = away <= self.solids.radius + (self.cup_reach_m + CUP_MARGIN_M)
        sealable = (near & self.solids.movable).any(-1).tolist()
        self._take([row for row in seeking if sealable[row]])

    def _take(self, rows: Sequence[int], bodies: Sequence[int] | None = None) -> None:
        """Attach bodies to the grippers, with the cups that seal, at least one; by default the body
        on which most cups seal, if any.
        """
        if not rows:
            return
        chosen = self.select(torch.tensor(rows))
        sealed, distance = sealed_cups(chosen, self.simulations[0].vacuum.samples)
        cups = sealed.sum(-1) * self.solids.movable[rows]  # (n, K)
        for i, row in enumerate(rows):
            body = int(cups[i].argmax()) if bodies is None else bodies[i]
            if bodies is not None or int(cups[i, body]) > 0:
                vacuum = self.simulations[row].vacuum
                vacuum.take(body, max(1, int(sealed[i, body].sum())), float(distance[i, body]))


def _read(read: Callable[[Simulation], np.ndarray]) -> Callable[[SimWorld], Tensor]:
    """Return a function that stacks a value of each simulation, as float32."""
    return lambda world: torch.from_numpy(
        np.array([read(simulation) for simulation in world.simulations], np.float32)
    )


def _stacked(answers: Iterable[float]) -> Tensor:
    """Return values of simulations, (B,); numpy takes a third of the time."""
    return torch.from_numpy(np.array(list(answers)))


def _up(contacts: Contacts, one: int, other: int) -> float:
    """Return the upward impulse in N s of the contacts of an ordered pair of slots."""
    points = (point for contact in contacts.get((one, other), ()) for point in contact.points)
    # exact sum, as PhysX orders contacts by memory address
    return math.fsum(float(point.impulse[2]) for point in points)


def _speed(track: Sequence[np.ndarray], contacts: Sequence[PhysxContact]) -> float:
    """Return the larger of the last step length of a track of positions (3,) and the largest step
    along the contact normals, in m.

    The speed reported by PhysX is unusable: it jumps where the gripper meets the table.
    """
    speed = math.dist(track[-2], track[-1])
    normals = [contact.points[0].normal for contact in contacts if contact.points]
    if not normals:
        return speed
    ways = np.diff(track, axis=0) @ np.array(normals).T
    return max(speed, float(np.abs(ways).max()))


def _touch(contacts: Iterable[PhysxContact]) -> bool:
    """Return whether bodies press on each other or overlap."""
    pressed = 0.0
    for contact in contacts:
        for point in contact.points:
            # Python floats: numpy takes ten times as long
            pressed += sum(map(abs, point.impulse.tolist()))
            if pressed > CONTACT_IMPULSE_NS or point.separation < -CONTACT_OVERLAP_M:
                return True
    return False
