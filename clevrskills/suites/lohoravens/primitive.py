"""Pick-and-place primitive: one pick, one place, and the arm back beside the field.

The policy chooses where to grasp: the gripper goes straight down at the pick, whatever is there,
and what it holds goes down at the place until it touches something. Only the way there is planned
around the bodies on the field.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import chain
from math import pi
from typing import Any
from zlib import crc32

import numpy as np
import torch
from sapien import Pose

from clevrskills.sim.setting import Workspace
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, PlanFailed, until, yaw_of
from clevrskills.solvers.skills.put_down import backed_off
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.resting import highest
from clevrskills.suites.lohoravens.setting import FIELD

PLACED = "PLACED"
OUT_OF_FIELD, UNREACHABLE = "OUT_OF_FIELD", "UNREACHABLE"
NOTHING_PICKED, DROPPED, TIMED_OUT = "NOTHING_PICKED", "DROPPED", "TIMED_OUT"
"""Outcomes of a turn of the arm; only the first is success."""

OUTSIDE_M = 0.02
"""Greatest distance of a pick or place from the field."""
APPROACH_M = 0.06
"""Height above the surface under the point from which the gripper goes straight down."""
SLOW_M, SLOW_PER_STEP_M = 0.01, 0.0025
"""Last part of the way down, and the distance per control step there."""
OVERTRAVEL_M = 0.004
"""Depth below the surface at which it gives up."""
LIFT_M = 0.06
ABOVE_M = (0.045, 0.075, 0.11)
"""Heights above the surface at the place from which the held body is lowered, in the order in which
they are tried."""
TOUCH_M = 2e-4
"""Gap below which the held body touches what is under it."""
SEARCHES = 4
"""Number of searches for a path, each with other random choices."""
REST_STEPS = 20
"""Control steps, one second, in which all bodies must come to rest."""
SAME_SURFACE_M = 0.003
"""Greatest height difference of bodies that count as the surface under a point."""
HELD_CELL_M = 0.004
"""Cell size of the box around a held body in planning: plans for equal blocks are alike."""
CUPS_GIVE_M = 0.003
"""Depth of the cups below the tops of bodies beside a pick or a place: they come straight down, and
a body as high as the block that they touch is no obstacle."""
YAWS = tuple(k * pi / 2 for k in range(4)), tuple((2 * k + 1) * pi / 4 for k in range(4))
"""Turns of the gripper that are tried, relative to that of the pick: those that fit square blocks
first."""

Outcome = Generator[np.ndarray, None, str]
"""Actions (7,), and the code of the outcome as return value."""


class PrimitiveArm(Arm):
    """An arm that plans with boxes of whole cells around the held body, see
    :data:`HELD_CELL_M`.
    """

    def reaches_down(
        self, tip: Pose, ignore: tuple[int, ...], near: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return :meth:`reachable` for cups at the height of a surface, see :data:`CUPS_GIVE_M`."""
        usual = self.margin_m
        self.margin_m = np.array([*usual[:2], -CUPS_GIVE_M])
        self.update_planning_scene(ignore)
        self.margin_m = usual
        return self.reachable(tip, near)

    def _held_box(self, body: int, grip: Pose) -> tuple[np.ndarray, np.ndarray]:
        size, center = super()._held_box(body, grip)
        low = np.floor((center - size / 2) / HELD_CELL_M + 0.25) * HELD_CELL_M
        high = np.ceil((center + size / 2) / HELD_CELL_M - 0.25) * HELD_CELL_M
        low[2] = (center - size / 2)[2]  # just below the cups
        return high - low, (low + high) / 2


def arm_of_turn(env: Any, turn: int) -> PrimitiveArm:
    """Return the arm of a turn; its random choices depend on the episode and the turn."""
    entropy = np.random.SeedSequence((env.episode_seed, crc32(b"primitive"), turn))
    return PrimitiveArm(env, np.random.default_rng(entropy))


def in_field(move: Move, field: Workspace = FIELD) -> bool:
    """Return whether pick and place are in the field or just outside."""
    return all(
        low - OUTSIDE_M <= value <= high + OUTSIDE_M
        for x, y, _ in (move.pick, move.place)
        for value, (low, high) in ((x, field.x_m), (y, field.y_m))
    )


def pick_and_place(arm: PrimitiveArm, move: Move) -> Outcome:
    """Pick what is at the pick, put it down at the place, and go home.

    Returns:
        ``PLACED``; ``OUT_OF_FIELD`` or, if no path is found, ``UNREACHABLE`` before anything
        moves; ``NOTHING_PICKED``; ``DROPPED`` if the body is lost on the way; ``UNREACHABLE`` on
        the way, after the body was put back.
    """
    if not in_field(move):
        return OUT_OF_FIELD
    if arm.held >= 0:  # picked in an earlier turn
        arm.vacuum = False
        yield from arm.wait(2)
    plan = next(filter(None, (_plan(arm, move) for _ in range(SEARCHES))), None)
    if plan is None:
        return UNREACHABLE
    try:
        code = yield from _carry(arm, *plan)
    except PlanFailed:
        code = UNREACHABLE
        if arm.held >= 0:
            yield from _put_back(arm, plan[0])
    arm.vacuum = False
    yield from _go_home(arm)
    return code


def _plan(arm: PrimitiveArm, move: Move) -> tuple[Pose, Pose] | None:
    """Return poses of the end effector with the cups at the pick, and at the same height at the
    place.

    They have the first turn of :data:`YAWS`, the least change first, that reaches both; ``None``:
    no turn does.
    """
    height, owners = _under(arm, np.array([move.pick[:2]]))
    top, onto = _under(arm, np.array([move.place[:2]]))
    turn_rad = move.place[2] - move.pick[2]

    def change_rad(turn: float) -> tuple[float, float]:
        change = (move.pick[2] + turn - arm.yaw_rad + pi) % (2 * pi) - pi
        return round(abs(change), 6), turn

    for yaw in (move.pick[2] + turn for of in YAWS for turn in sorted(of, key=change_rad)):
        tip = _tip(arm, (*move.pick[:2], height), yaw)
        end = _tip(arm, (*move.place[:2], top + max(height, 0.0)), yaw + turn_rad)
        at_pick = arm.reaches_down(tip, owners)
        if at_pick is None or arm.reaches_down(end, (*owners, *onto), at_pick) is None:
            continue
        arm.update_planning_scene()
        if arm.reachable(backed_off(tip, APPROACH_M)) is not None:
            return tip, end
    return None


def _tip(arm: Arm, place: Sequence[float], yaw_rad: float) -> Pose:
    """Return the end effector's pose with the cups at a place (3,), straight down."""
    orientation = down(yaw_rad)
    if float(np.dot(orientation, arm.pose.q)) < 0:  # of the two quaternions the nearer one
        orientation = -orientation
    return Pose(list(place), orientation) * Pose([0, 0, -arm.cup_tip_z_m])


def _under(arm: Arm, places: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """Return the greatest height under places (N, 2), and the slots of the bodies there; the held
    body is ignored.
    """
    present = arm.world.solids.present[0].nonzero()[:, 0].tolist()
    slots = [k for k in present if k != arm.held]
    return highest(arm.world, slots, torch.as_tensor(places, dtype=torch.float32), SAME_SURFACE_M)


def _carry(arm: Arm, pick: Pose, place: Pose) -> Outcome:
    """Pick a body, move it to the place and release it."""
    arm.set_label("move", "Move above the pick")
    yield from _move_to_any(arm, [backed_off(pick, APPROACH_M)])
    arm.set_label("pick", "Pick")
    arm.vacuum = True
    yield from arm.straight(backed_off(pick, SLOW_M))
    slowly = arm.straight(backed_off(pick, -OVERTRAVEL_M), SLOW_PER_STEP_M)
    yield from until(lambda: arm.held >= 0, chain(slowly, arm.wait(2)))
    body = arm.held
    if body < 0:
        arm.vacuum = False
        yield from arm.rise(APPROACH_M)
        return NOTHING_PICKED
    arm.set_label("lift", f"Lift {arm.label(body)}")
    if not (yield from _while_held(arm, body, arm.rise(LIFT_M))):
        return DROPPED
    below_m = float(arm.pose.p[2]) - float(arm.world.bottom(torch.tensor([body]))[0])
    x, y, _ = place.p
    surface, _ = _under(arm, _footprint(arm, body, place))
    lowered = Pose([x, y, surface + below_m], place.q)
    arm.set_label("move", f"Carry {arm.label(body)}")
    above = [Pose([0, 0, height_m]) * lowered for height_m in ABOVE_M]
    if not (yield from _while_held(arm, body, _move_to_any(arm, above))):
        return DROPPED
    arm.set_label("place", f"Put {arm.label(body)} down")
    if not (yield from _while_held(arm, body, _lower(arm, body, lowered))):
        return DROPPED
    yield from _let_go(arm)
    return PLACED


def _move_to_any(arm: Arm, poses: Sequence[Pose]) -> Actions:
    """Move to the first of some poses to which a path is found, see :data:`SEARCHES`."""
    *earlier, last = [*poses] * SEARCHES
    for pose in earlier:
        try:
            yield from arm.move(pose)
            return
        except PlanFailed:
            continue
    yield from arm.move(last)


def _footprint(arm: Arm, body: int, place: Pose) -> np.ndarray:
    """Return places (N, 2) below a held body once the end effector is at its place."""
    points = arm.world.world_points(torch.tensor([body]))[0].double().numpy()
    tool, turn = arm.pose, yaw_of(place.q) - yaw_of(arm.pose.q)
    # the gripper points down: seen from above it turns by the opposite of its own axis
    cos, sin = np.cos(turn), np.sin(turn)
    offsets = (points[:, :2] - tool.p[:2]) @ np.array([[cos, sin], [-sin, cos]])
    around = np.unique(np.round(offsets * 0.98, 3), axis=0)
    return np.concatenate((around, np.zeros((1, 2)))) + place.p[:2]


def _while_held(arm: Arm, body: int, actions: Actions) -> Generator[np.ndarray, None, bool]:
    """Yield actions while a body is held; return whether it still is."""
    yield from until(lambda: arm.held != body, actions)
    return arm.held == body


def _lower(arm: Arm, body: int, lowered: Pose) -> Actions:
    """Lower a held body until it touches something, or should have."""
    yield from arm.straight(Pose([0, 0, SLOW_M]) * lowered)
    slowly = arm.straight(Pose([0, 0, -OVERTRAVEL_M]) * lowered, SLOW_PER_STEP_M)
    yield from until(lambda: _touches(arm, body), slowly)


def _touches(arm: Arm, body: int) -> bool:
    """Return whether a held body touches anything but the robot."""
    key = arm.world.keys[body]
    return any(
        key in (one, other) and not {"gripper", "arm"} & {one, other} and gap <= TOUCH_M
        for one, other, gap in arm.env.world.contacts()
    )


def _let_go(arm: Arm) -> Actions:
    """Release, rise and wait until all bodies are at rest."""
    arm.vacuum = False
    yield from arm.wait(1)
    yield from arm.rise(LIFT_M)
    arm.set_label("wait", "Wait until all rests")
    movable = arm.world.solids.movable[0].nonzero().T  # (1, K)
    yield from until(lambda: bool(arm.world.is_static(movable).all()), arm.wait(REST_STEPS))


def _put_back(arm: Arm, pick: Pose) -> Actions:
    """Put the held body back where it was picked."""
    body = arm.held
    arm.set_label("place", f"Put {arm.label(body)} back")
    yield from arm.straight(Pose([*pick.p[:2], float(arm.pose.p[2])], pick.q))
    yield from _while_held(arm, body, _lower(arm, body, pick))
    yield from _let_go(arm)


def _go_home(arm: Arm) -> Actions:
    """Go to the start posture, which hides nothing, or rise if there is no path."""
    qpos = arm.env.setting.qpos_at_start(arm.env.robot_name)
    arm.set_label("home", "Go home")
    try:
        yield from arm.move(arm.base * arm.planner.kinematics.forward(qpos))
    except PlanFailed:
        yield from arm.rise(LIFT_M)
