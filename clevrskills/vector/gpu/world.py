"""The world of many scenes that are simulated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.sim.robots.description import robot
from clevrskills.sim.simulation import CONTACT_IMPULSE_NS, SETTLE_STEPS, SIM_HZ, near_cups
from clevrskills.sim.suction import cup_samples, sealed_cups
from clevrskills.sim.world import GRAVITY, RobotWorld
from clevrskills.vector.gpu.arm import Arm, DeltaController
from clevrskills.vector.gpu.contacts import NEVER, Contacts
from clevrskills.vector.gpu.physics import Physics
from clevrskills.vector.gpu.vacuum import Vacuum, joint_torques, way

SIM_STEPS, TIMESTEP_S = SIM_HZ // CONTROL_HZ, 1.0 / SIM_HZ
REST_STEPS = round(0.4 * CONTROL_HZ)


@dataclass(frozen=True)
class ResetState:
    """A state at rest into which environments can be put back.

    Attributes:
        bodies: Poses and velocities, (B, K, 13).
        qpos: Joint angles, (B, n).
        held: Slot of what is held, -1 for none, (B,).
        cups: How many cups hold it, (B,).
        grip: Its pose in the frame of the tool centre point, (B, 7).
        lift: What carries what, (B, K, K + 1), see
            :class:`~clevrskills.vector.gpu.contacts.Contacts`.
    """

    bodies: Tensor
    qpos: Tensor
    held: Tensor
    cups: Tensor
    grip: Tensor
    lift: Tensor

    @classmethod
    def stack(cls, states: Sequence[ResetState]) -> ResetState:
        """Several of them, of which :meth:`choose` chooses."""
        parts = ([getattr(one, field.name) for one in states] for field in fields(cls))
        return cls(*(torch.stack(part, dim=1) for part in parts))

    def choose(self, number: Tensor) -> ResetState:
        """For each environment one of those that were stacked, by their numbers (B,)."""
        rows = torch.arange(len(number), device=number.device)
        return ResetState(*(getattr(self, field.name)[rows, number] for field in fields(self)))


class Sleep:
    """Tells which bodies of B environments are at rest, from where they are after control steps.

    In a simulation on the CPU, PhysX puts what hardly moves to sleep; on a GPU it does not, and
    what lies still has a speed for ever that takes it nowhere. So what would sleep is found by its
    rule: that a body has moved by less than a millimetre, in 0.4 s.

    Args:
        limit: How far each may move and still be at rest, metres, (B, K).
        gyration: Distance from the centre of mass that makes a turn a way, metres, (B, K).
    """

    def __init__(self, limit: Tensor, gyration: Tensor) -> None:
        self._limit, self._gyration = limit, gyration
        self._since = torch.zeros_like(limit, dtype=torch.long)
        self._pose = limit.new_zeros(*limit.shape, 7)

    @property
    def still(self) -> Tensor:
        """Which bodies are at rest, (B, K) bool."""
        return self._since >= REST_STEPS

    def note(self, pose: Tensor) -> None:
        """Note where the bodies are after a control step, (B, K, 7)."""
        way = (pose[..., :3] - self._pose[..., :3]).norm(dim=-1)
        turn = geometry.rotation_angle(pose[..., 3:], self._pose[..., 3:]) * self._gyration
        moved = torch.hypot(way, turn) > self._limit
        self._pose = torch.where(moved[..., None], pose, self._pose)
        self._since = torch.where(moved, 0, self._since + 1)

    def restore(self, where: Tensor, pose: Tensor) -> None:
        """All bodies rest at poses (B, K, 7) in the environments ``where`` (B,) is true."""
        self._pose = torch.where(where[:, None, None], pose, self._pose)
        self._since = torch.where(where[:, None], REST_STEPS, self._since)


class GpuWorld(RobotWorld):
    """Reads and moves scenes that are simulated together."""

    def __init__(
        self, keys: Sequence[str], solids: Solids, physics: Physics, robot_name: str
    ) -> None:
        description = robot(robot_name)
        tips = [(x, y, description.cup_tip_z) for x, y in description.cup_centers]
        super().__init__(keys, solids, torch.tensor(tips, device=physics.device))
        self._physics, self._robot_name = physics, robot_name
        self._samples = cup_samples(self.cup_tips, description.cup_radius)
        base = torch.tensor([*description.base_position, 1.0, 0, 0, 0], device=self.device)
        self._arm = Arm(robot_name, self.device)
        self._controller = DeltaController(self._arm, base, self.num_envs, SIM_STEPS, CONTROL_HZ)
        self._vacuum = Vacuum.empty(self.num_envs, self.device)
        self._contacts = Contacts(physics.pairs, self.num_envs, len(self.keys))
        gyration = (physics.inertia.moments.mean(-1) / physics.inertia.mass).sqrt()
        self._sleep = Sleep(physics.rest_m, gyration)
        self._tcp = physics.tcp[:, :7]  # before the last physics step
        self._everywhere = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)

    # ---- time ----

    def step(self, action: Tensor) -> None:
        """Run one control step with actions (B, 7)."""
        physics, controller = self._physics, self._controller
        controller.set_action(action, physics.qpos, physics.tcp[:, :7])
        self._vacuum.release(~controller.vacuum_on)
        self._contacts.begin()
        for _ in range(SIM_STEPS):
            physics.drive(*controller.next_drive())
            self._step()
            if self._contacts.asked:
                self._contacts.note(physics.impulses())
        self._contacts.weigh(physics.impulses())
        self._sleep.note(self.body_pose)
        self.invalidate()
        self._grip()

    def _step(self) -> None:
        """Run one physics step; what is held is pulled along."""
        physics, vacuum, rows = self._physics, self._vacuum, self._rows
        body = vacuum.held.clamp(min=0)
        held, inertia = physics.bodies[rows, body], physics.inertia.of(rows, body)
        tcp = physics.tcp[:, :7]
        # the speed that PhysX tells at the end of a step is not that at which the arm was led
        pull = vacuum.pull(tcp, way(self._tcp, tcp) / TIMESTEP_S, held, inertia, TIMESTEP_S)
        self._tcp = tcp
        center = geometry.compose(held[:, :7], inertia.axes)[:, :3]
        jacobian = self._arm.forward(physics.qpos)[1]
        torques = joint_torques(pull, center - tcp[:, :3], jacobian)
        physics.push(body, pull, torques)
        physics.step()
        physics.read()

    def _grip(self) -> None:
        """Let go of what slipped, take what a cup touches."""
        vacuum = self._vacuum
        seeking = self._controller.vacuum_on & (vacuum.held < 0)
        vacuum.release_slipped(self.end_effector_pose, self.pose(vacuum.held.clamp(min=0)))
        rows = (seeking & near_cups(self)).nonzero()[:, 0]
        if len(rows):
            sealed, distance = sealed_cups(self.select(rows), self._samples)
            cups, body = (sealed.sum(-1) * self.solids.movable[rows]).max(-1)
            found = cups > 0
            distance = distance.gather(1, body[:, None])[:, 0]
            self._take(rows[found], body[found], cups[found], distance[found])

    def _take(self, rows: Tensor, body: Tensor, cups: Tensor, distance: Tensor) -> None:
        """Hold bodies (n,) in environments (n,) with so many cups, whose plane is so far away."""
        tcp = geometry.invert(self.end_effector_pose[rows])
        grip = geometry.compose(tcp, self.body_pose[rows, body])
        grip[:, 2] -= distance  # the lips close a gap, and give way where they were pressed in
        self._vacuum.take(rows, body, cups, grip)

    # ---- what it tells ----

    @property
    def filled(self) -> Tensor:
        return self._physics.filled

    @property
    def body_pose(self) -> Tensor:
        return self._physics.bodies[..., :7]

    @property
    def body_velocity(self) -> Tensor:
        return self.cached(
            "velocity", lambda w: w._physics.bodies[..., 7:] * ~w._sleep.still[..., None]
        )

    @property
    def end_effector_pose(self) -> Tensor:
        return self.select_rows(self._physics.tcp[:, :7])

    @property
    def end_effector_velocity(self) -> Tensor:
        return self.select_rows(self._physics.tcp[:, 7:])

    @property
    def qpos(self) -> Tensor:
        return self.select_rows(self._physics.qpos)

    @property
    def qvel(self) -> Tensor:
        return self.select_rows(self._physics.qvel)

    @property
    def vacuum_on(self) -> Tensor:
        return self.select_rows(self._controller.vacuum_on)

    @property
    def held(self) -> Tensor:
        return self.select_rows(self._vacuum.held)

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        weight = self.at(self.solids.mass, upper) * (GRAVITY * TIMESTEP_S)
        return self._contacts.lift[self._rows, upper, lower] / weight

    def on_table(self, body: Tensor) -> Tensor:
        return self._contacts.lift[self._rows, body, len(self.keys)] > CONTACT_IMPULSE_NS

    def expect_touches(self) -> None:
        self._contacts.asked = True

    def touches(self, body: Tensor, other: Tensor) -> Tensor:
        self._contacts.asked = True  # from now on; goals ask at the start
        return self._contacts.first[self._rows, body, other] < NEVER

    def touches_before(self, body: Tensor, other: Tensor) -> Tensor:
        self._contacts.asked = True
        return self._contacts.touched_before(self._rows, body, other)

    def touches_body(self, body: Tensor) -> Tensor:
        self._contacts.asked = True
        return (self._contacts.first[self._rows, body, : len(self.keys)] < NEVER).any(-1)

    # ---- what can be put ----

    def set_body_pose(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        where = self._everywhere if where is None else where
        self._vacuum.release(where & (self._vacuum.held == body))
        slots = torch.arange(len(self.keys), device=self.device)
        chosen = where[:, None] & (slots == body[:, None])
        self._physics.place_bodies(chosen, _at_rest(pose[:, None].expand(-1, len(slots), -1)))
        self.invalidate()

    def hold(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        self.set_body_pose(body, pose, where)
        rows = self._rows if where is None else self._rows[where]
        taken, mine = body[rows], torch.arange(len(rows), device=self.device)
        sealed, distance = sealed_cups(self.select(rows), self._samples)
        self._take(rows, taken, sealed[mine, taken].sum(-1).clamp(min=1), distance[mine, taken])

    def begin(self, pose: Tensor, held: Tensor) -> ResetState:
        """Start episodes with bodies at poses (B, K, 7), some (B,) held, -1 for none; what comes
        to rest.
        """
        everywhere, physics, vacuum = self._everywhere, self._physics, self._vacuum
        self._sleep.restore(everywhere, pose)
        neutral = torch.tensor(robot(self._robot_name).neutral_qpos, device=self.device)
        qpos = neutral.expand(self.num_envs, -1)
        vacuum.release(everywhere)
        physics.place_bodies(everywhere[:, None].expand(pose.shape[:2]), _at_rest(pose))
        physics.place_arms(everywhere, qpos)
        self.invalidate()
        self._tcp = self.end_effector_pose
        self._controller.reset(everywhere, qpos, self._tcp, held >= 0)
        body = held.clamp(min=0)
        self.hold(body, self.at(pose, body), held >= 0)
        for _ in range(SETTLE_STEPS):
            physics.drive(qpos, torch.zeros_like(qpos))
            self._step()
        self._contacts.begin()
        self._contacts.weigh(physics.impulses())
        bodies = _at_rest(self.body_pose)
        physics.place_bodies(everywhere[:, None].expand(pose.shape[:2]), bodies)
        self.invalidate()
        lift = self._contacts.lift.clone()
        return ResetState(bodies, physics.qpos, vacuum.held, vacuum.cups, vacuum.grip, lift)

    def restore(self, state: ResetState, where: Tensor) -> None:
        """Put environments back into a state, where ``where`` (B,) is true."""
        rows, vacuum = self._rows[where], self._vacuum
        self._physics.place_bodies(where[:, None].expand(state.bodies.shape[:2]), state.bodies)
        self._physics.place_arms(where, state.qpos)
        vacuum.take(rows, state.held[rows], state.cups[rows], state.grip[rows])
        self._tcp = torch.where(where[:, None], self.end_effector_pose, self._tcp)
        self._controller.reset(where, state.qpos, self._tcp, state.held >= 0)
        self._contacts.restore(rows, state.lift[rows])
        self._sleep.restore(where, state.bodies[..., :7])
        self.invalidate()


def _at_rest(pose: Tensor) -> Tensor:
    """Poses (..., 7) with velocities of 0, (..., 13)."""
    return torch.cat((pose, torch.zeros_like(pose)[..., :6]), dim=-1)
