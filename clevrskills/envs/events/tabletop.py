"""Watcher of tabletop episodes: detects failure events from the simulator and the goal tree.

It is called once per control step, for every action interface, and has no side effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, hypot, radians
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from clevrskills.core.goal.predicate import Leaf
from clevrskills.core.goal.tree import Node, leaf_status, nodes, reasons, state_of
from clevrskills.envs.events.kinds import KINDS, Event
from clevrskills.envs.events.trajectory import path_length_m, spectral_arc_length
from clevrskills.envs.recorder_view import RecorderView
from clevrskills.predicates.avoiding import Avoiding
from clevrskills.predicates.end_effector_at_position import EndEffectorAtPosition
from clevrskills.predicates.hit import Hit
from clevrskills.predicates.physical import PhysicalPredicate, Placing
from clevrskills.predicates.traced import Traced
from clevrskills.sim.robots.delta_action import CONTROL_HZ

DROP_M = 0.02
"""Clearance of a body after the control step of its release, above which it was dropped; the oracle
releases bodies below 0.5 cm."""
TOPPLE_RAD = radians(45)
"""Tilt from the initial orientation above which a body has tipped over."""
SWEPT_M = 0.05
"""Sliding distance above which a body was swept away: half the size of a typical object."""
CARRIED_M = 0.01
"""Motion of a body above which it may be carried by the held body."""
NEAR_M = 0.10
"""Distance between cups and body, or between the tool and a target in the air, below which it was
approached: the size of a typical object."""
CARRIER_SHARE = 0.5
"""Share of the weight of a body above which another body carries it."""
IDLE_S, IDLE_M, IDLE_COS = 3.0, 0.005, cos(radians(1.0) / 2)
"""Duration, motion and cosine of half the rotation below which the arm is idle."""
HELD_S, UNDONE_M, UNDONE_COS = 0.25, 0.02, cos(radians(20) / 2)
"""Time for which a part of the goal must have held, and motion of its bodies that undoes it."""
APART_S = 0.5
"""Time without contact after which another collision of the same pair counts."""
FALLEN_M = -0.05
"""Height of the origin of a body below which it is off the table."""


@dataclass(frozen=True)
class Roles:
    """Slots of the bodies of a goal by role."""

    handled: frozenset[int]  # to be grasped, pushed, touched or thrown
    named: frozenset[int]  # named by any part of the goal
    unsettled: frozenset[int]  # may slide, fly or fall over
    avoided: frozenset[int]  # must not be touched by the robot

    @classmethod
    def of(cls, tree: list[Node], count: int, env: int = 0) -> Roles:
        """Return the roles of a goal tree in one environment with ``count`` slots."""
        handled, named, unsettled, avoided = set[int](), set[int](), set[int](), set[int]()
        for node in tree:
            predicate = node.predicate
            if not node.active:
                continue
            if isinstance(predicate, Avoiding):
                avoided |= _slots(predicate.objects, env)
            elif isinstance(predicate, PhysicalPredicate):
                named |= _slots_of(predicate, predicate.bodies(), env)
                handled |= _handled(predicate, env)
                unsettled |= _slots_of(predicate, predicate.unsettles, env)
        slots = {*range(count)}  # predicates of other distributions may have other indices
        found = (handled, named | avoided, unsettled, avoided - handled)
        return cls(*(frozenset(each & slots) for each in found))


def _handled(predicate: PhysicalPredicate, env: int = 0) -> set[int]:
    return _slots_of(predicate, predicate.handles or predicate.bodies(), env)


def _slots_of(predicate: PhysicalPredicate, names: tuple[str, ...], env: int) -> set[int]:
    found = set[int]()
    for name in names:
        found |= _slots(getattr(predicate, name), env)
    return found


def _bodies_of(leaf: Leaf) -> set[int]:
    return _slots_of(leaf, leaf.bodies(), 0) if isinstance(leaf, PhysicalPredicate) else set()


def _slots(values: torch.Tensor, env: int) -> set[int]:
    return {slot for slot in values[env].reshape(-1).tolist() if slot >= 0}


class TabletopWatcher:
    """Watcher of one episode of an environment that was reset.

    Attributes:
        events: Failure events so far, in order.
    """

    def __init__(self, env: RecorderView) -> None:
        self._env, self._world, self._simulation = env, env.world, env.simulation
        self._simulation.log_contacts = True
        self.events = list[Event]()
        self._step = 0
        tree = nodes(env.goal)
        self.roles = Roles.of(tree, len(self._world.keys))
        self._paths = {id(node.predicate): node.path for node in tree if node.leaf is not None}
        self._leaves = [node for node in tree if node.leaf is not None and node.active]
        bodies = env.layouts[0].bodies
        self._movable = [k for k, b in enumerate(bodies) if b and b.movable and not b.ghost]
        self._workspace = env.setting.workspace
        pose = self._world.body_pose[0].numpy()
        self._upright = {k: _up_row(pose[k, 3:]) for k in self._movable}
        self._rest = {k: pose[k, :2].copy() for k in self._movable}  # last resting positions
        self._inside = {k for k in self._movable if self._reaches(pose[k])}
        self._held = int(self._world.held[0])
        self._moving = {self._held} - {-1}  # held, flying or falling
        self._reported = set[tuple[str, int]]()  # ongoing events, reported once
        self._touching = dict[tuple[int, int], int]()  # last step of collisions by pair
        self._met = [0] * len(self._leaves)  # number of steps for which leaves have held
        self._done: dict[int, NDArray[Any]] = {}  # poses when leaves last held
        self._lost: dict[int, int] = {}  # first step at which leaves no longer held
        self._note_goal()
        self._path = [self._tool()[:3]]
        self._still = 0, self._tool()  # last step with motion, and the pose
        ghosts = {k for k, body in enumerate(bodies) if body and body.ghost}
        self._tangible = sorted(self.roles.handled - ghosts)
        self._nearest = np.inf, 0, -1  # distance of the cups, step, body
        self._reached = self._held >= 0  # whether a handled body was touched
        in_air = (Traced, EndEffectorAtPosition)
        self._in_air = any(isinstance(node.predicate, in_air) for node in self._leaves)
        self._aim: Leaf | None = None  # next target of the tool in the air
        self._aim_nearest = np.inf, 0  # distance of the tool beyond the tolerance, step
        self._falling = dict[int, set[int]]()  # released, not yet at rest; contacts since
        self._astray: dict[int, Event] = {}  # released, and at rest away from all targets
        self._approach(pose)
        self._contact: int | None = None
        env.after_step.append(self._look)

    # ---- results ----

    def finish(self) -> None:
        """End the episode and add events that are only known at its end."""
        near_m, step, slot = self._nearest
        if self._step and self._tangible and not self._reached:
            near = near_m <= NEAR_M
            self._add("missed" if near else "not approached", slot, step if near else None)
        if self._step and self._aim is not None:
            near_m, step = self._aim_nearest
            near, slot = near_m <= NEAR_M, min(_bodies_of(self._aim), default=-1)
            self._add("missed" if near else "not approached", slot, step if near else None)
        self.events += [e for slot, e in self._astray.items() if self._place_elsewhere(slot)]
        order = list(KINDS)
        self.events.sort(key=lambda event: (event.step, order.index(event.kind)))

    def trajectory(self) -> dict[str, float]:
        """Return measures of the path of the tool center point: ``path_m``, ``sparc`` and, if the
        robot touched a body, ``first_contact_s``; empty before the first step.
        """
        if len(self._path) < 2:
            return {}
        places = np.array(self._path, float)
        speed = np.linalg.norm(np.diff(places, axis=0), axis=-1) * CONTROL_HZ
        found = {
            "path_m": round(path_length_m(places), 6),
            "sparc": round(spectral_arc_length(speed, CONTROL_HZ), 6),
        }
        if self._contact is not None:
            found["first_contact_s"] = round(self._contact / CONTROL_HZ, 6)
        return found

    # ---- updates per control step ----

    def _look(self) -> None:
        self._step += 1
        pose = self._world.body_pose[0].numpy()
        held = int(self._world.held[0])
        self._note_grip(held)
        self._note_touches()
        self._approach(pose)
        for slot in self._movable:
            self._note_body(slot, pose[slot], held)
        self._held = held
        self._note_goal()
        self._note_arm()

    def _note_grip(self, held: int) -> None:
        before = self._held
        if held >= 0 and held != before and held not in self.roles.handled:
            self._add("wrong grasp", held)
        if before < 0 or held == before:
            return
        if self._env.agent.controller.vacuum_on:
            self._add("dropped", before, detail="lost with the vacuum on")
            return
        self._falling[before] = set()
        if before not in self.roles.unsettled:
            height_m = float(self._world.clearance(torch.tensor([before])))
            if height_m > DROP_M:
                self._add("dropped", before, detail="let go in the air")

    def _note_touches(self) -> None:
        simulation, forbidden = self._simulation, self.roles.avoided
        robot = (simulation.gripper, simulation.arm)
        last = dict(self._touching)
        for one, other in sorted(simulation.noticed):
            if one in self._falling:
                self._falling[one].add(other)
            if other not in robot or one in robot:
                continue
            body = one < simulation.table
            if body and self._contact is None:
                self._contact = self._step
            self._reached |= one in self.roles.handled
            if body and (one in forbidden or one not in self.roles.named):
                self._once("wrong touch", one)
            if other == simulation.gripper and body:
                continue
            self._touching[one, other] = self._step
            if self._step - last.get((one, other), -self._step - 1) > APART_S * CONTROL_HZ:
                part = "arm" if other == simulation.arm else "gripper"
                self._add("collision", one, detail=part)

    def _note_body(self, slot: int, pose: NDArray[Any], held: int) -> None:
        if slot == held:
            self._moving.add(slot)
            self._falling.pop(slot, None)
            self._astray.pop(slot, None)
            self._reported -= {("toppled", slot)}
            return
        free = slot in self.roles.unsettled
        tipped = float(self._upright[slot] @ _up_row(pose[3:])) < cos(TOPPLE_RAD)
        if not tipped:
            self._reported -= {("toppled", slot)}
        elif not free and self._once("toppled", slot):
            self._moving.add(slot)
        if slot in self._moving:
            if bool(self._world.is_static(torch.tensor([slot]))[0]):
                self._moving.discard(slot)
                self._rest[slot] = pose[:2].copy()
                self._note_rest(slot)
        else:
            gone_m = float(np.hypot(*(pose[:2] - self._rest[slot])))
            if gone_m > CARRIED_M and self._carried(slot, held):
                self._moving.add(slot)
            elif gone_m > SWEPT_M:
                self._moving.add(slot)
                if not free:
                    self._add("swept", slot)
        out = pose[2] < FALLEN_M or (not free and not self._reaches(pose))
        if pose[2] < FALLEN_M:
            self._note_rest(slot)
        if not out:
            self._inside.add(slot)
            self._reported -= {("out of workspace", slot)}
        elif slot in self._inside or pose[2] < FALLEN_M:
            self._once("out of workspace", slot)

    def _note_rest(self, slot: int) -> None:
        """Update a released body that came to rest."""
        if slot not in self._falling:
            return
        touched = self._falling.pop(slot)
        below, goal, outcome = self._carrier(slot), self._env.goal, self._env.outcome
        on = f"on {self._world.keys[below]}" if below >= 0 else "on the table"
        if place := self._place_elsewhere(slot):
            name = self._world.keys[slot]
            self._astray[slot] = Event("misplaced", self._step, name, place, on)
        throws = [node.predicate for node in self._leaves if isinstance(node.predicate, Hit)]
        own = [leaf for leaf in throws if slot in _slots(leaf.object, 0)]
        if not own or any(bool(state_of(leaf, goal, outcome)["hit"][0]) for leaf in own):
            return
        targets, asked = (
            {target for leaf in some for target in _slots(leaf.target, 0)} for some in (throws, own)
        )
        kind = "misplaced" if touched & (targets - asked) else "missed"
        self._add(kind, slot, goal=self._paths[id(own[0])], detail=on)

    def _note_goal(self) -> None:
        env = self._env
        for leaf, status in enumerate(leaf_status(env.goal, env.outcome)):
            if status.met or not status.asked:
                self._met[leaf] = self._met[leaf] + 1 if status.asked else 0
                self._lost.pop(leaf, None)
                self._done[leaf] = self._world.body_pose[0].numpy()
                continue
            if self._met[leaf] >= HELD_S * CONTROL_HZ:
                self._lost[leaf] = self._step
            self._met[leaf] = 0
            if leaf in self._lost and self._moved(leaf):
                goal = self._leaves[leaf].path
                self._add("undone", -1, step=self._lost.pop(leaf), goal=goal)
        causes = reasons(env.goal, env.goal.failure_flags, env.outcome.state)
        if causes and causes[0]:
            self._once("unsolvable", -1, detail=causes[0])

    def _note_arm(self) -> None:
        tool = self._tool()
        self._path.append(tool[:3])
        since, there = self._still
        moved = float(np.linalg.norm(tool[:3] - there[:3])) > IDLE_M
        if moved or abs(float(tool[3:] @ there[3:])) < IDLE_COS:
            self._still = self._step, tool
            self._reported -= {("idle", -1)}
        elif self._step - since >= IDLE_S * CONTROL_HZ:
            self._once("idle", -1, step=since + 1)

    # ---- queries ----

    def _tool(self) -> NDArray[Any]:
        return self._world.end_effector_pose[0].double().numpy()

    def _carried(self, slot: int, held: int) -> bool:
        """Return whether the held body carries a body, directly or through others."""
        if held < 0:
            return False
        below, known = [held], {held}
        for lower in below:
            for upper in self._movable:
                two = torch.tensor([lower]), torch.tensor([upper])
                if upper not in known and float(self._world.supports(*two)) > 0.5:
                    if upper == slot:
                        return True
                    below.append(upper)
                    known.add(upper)
        return False

    def _moved(self, leaf: int) -> bool:
        """Return whether a leaf's body has moved since the leaf held."""
        before, now = self._done[leaf], self._world.body_pose[0].numpy()
        predicate = self._leaves[leaf].predicate
        if not isinstance(predicate, PhysicalPredicate):
            return True  # the body is unknown
        slots = sorted(_handled(predicate) & self.roles.handled)
        gone_m = np.linalg.norm(now[slots, :3] - before[slots, :3], axis=-1)
        turned = np.abs((now[slots, 3:] * before[slots, 3:]).sum(-1))
        return bool((gone_m > UNDONE_M).any() or (turned < UNDONE_COS).any())

    def _reaches(self, pose: NDArray[Any]) -> bool:
        """Return whether the gripper reaches the position of a body."""
        x, y = float(pose[0]), float(pose[1])
        return hypot(x - self._workspace.base_x_m, y) <= self._workspace.reach_m[1]

    def _place_elsewhere(self, slot: int) -> str:
        """Return the path of a part of the goal that requires a body elsewhere; empty if there is
        none, or if the body is where another part requires or required it.
        """
        goal, outcome, found = self._env.goal, self._env.outcome, ""
        for status in leaf_status(goal, outcome):
            leaf = status.leaf
            if not isinstance(leaf, Placing) or status.ahead:
                continue
            if slot in _slots(getattr(leaf, leaf.handles[0]), 0):
                if bool(leaf.located(self._world, state_of(leaf, goal, outcome))[0]):
                    return ""
                found = found or (self._paths[id(leaf)] if status.asked else "")
        return found

    def _carrier(self, slot: int) -> int:
        """Return the body that carries most of the weight of another one, -1 for none."""
        slots = torch.arange(len(self._world.keys))
        others = slots[slots != slot]
        share = self._world.supports(others[None], torch.full_like(others, slot)[None])[0]
        best = int(share.argmax()) if len(others) else -1
        return int(others[best]) if best >= 0 and share[best] > CARRIER_SHARE else -1

    def _approach(self, pose: NDArray[Any]) -> None:
        """Update the distances of the cups from handled bodies, by bounding spheres, and of the
        tool from its next target in the air.
        """
        place = self._tool()[:3]
        if self._tangible and not self._reached:
            slots = self._tangible
            radius = self._world.solids.radius[0, slots].numpy()
            away = np.linalg.norm(pose[slots, :3] - place, axis=-1) - radius
            best = int(away.argmin())
            near = float(away[best]) - self._world.cup_reach_m, self._step, slots[best]
            self._nearest = min(self._nearest, near)
        if not self._in_air:
            return
        aim = self._env.goal.next_leaf(self._env.outcome)
        if aim is not self._aim:
            self._aim, self._aim_nearest = aim, (np.inf, self._step)
        if isinstance(aim, Traced):
            goal, tolerance_m = self._world.position(aim.object), aim.criteria.end_effector_m
        elif isinstance(aim, EndEffectorAtPosition):
            goal, tolerance_m = aim.position, aim.tolerance
        else:
            self._aim = None
            return
        away_m = float(np.linalg.norm(goal[0].numpy() - place)) - tolerance_m
        self._aim_nearest = min(self._aim_nearest, (away_m, self._step))

    # ---- events ----

    def _once(self, kind: str, slot: int, **more: Any) -> bool:
        """Record an event unless it is ongoing."""
        new = (kind, slot) not in self._reported
        if new:
            self._reported.add((kind, slot))
            self._add(kind, slot, **more)
        return new

    def _add(
        self, kind: str, slot: int, step: int | None = None, goal: str = "", detail: str = ""
    ) -> None:
        names = [*self._world.keys, "table"]
        aim = self._env.goal.next_leaf(self._env.outcome)
        goal = goal or (self._paths.get(id(aim), "") if aim is not None else "")
        name = names[slot] if slot >= 0 else ""
        self.events.append(Event(kind, self._step if step is None else step, name, goal, detail))


def _up_row(quaternion: NDArray[Any]) -> NDArray[Any]:
    """Return the world up vector (3,) in the frame of a body with an orientation w, x, y, z."""
    w, x, y, z = quaternion.astype(float)
    return np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
