"""Pick-and-place primitive: one pick, one place, and the arm back beside the field.

Where to grasp is the policy's business: the gripper goes straight down at the pick, whatever is
there, and what it holds goes down at the place until it touches something. Only the way there is
planned around what is known to stand on the field.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any
from zlib import crc32

import numpy as np
import torch
from sapien import Pose

from clevrskills.sim.setting import Workspace
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, PlanFailed, yaw_of
from clevrskills.solvers.skills.put_down import backed_off
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.resting import highest
from clevrskills.suites.lohoravens.setting import FIELD

PLACED = "PLACED"
OUT_OF_FIELD, UNREACHABLE = "OUT_OF_FIELD", "UNREACHABLE"
NOTHING_PICKED, DROPPED, TIMED_OUT = "NOTHING_PICKED", "DROPPED", "TIMED_OUT"
"""What comes of a turn of the arm; only the first one is what was asked for."""

OUTSIDE_M = 0.02
"""How far outside the field a pick or place may be."""
APPROACH_M = 0.06
"""Height above what is under the point from which the gripper goes straight down."""
SLOW_M, SLOW_PER_STEP_M = 0.01, 0.0025
"""Last part of the way down, and the way of a control step there."""
OVERTRAVEL_M = 0.004
"""How much further than to the surface it goes until it gives up."""
LIFT_M = 0.06
ABOVE_M = (0.045, 0.075, 0.11)
"""Heights above what is under the place from which what is held is lowered: the first one to which
there is a way."""
TOUCH_M = 2e-4
"""Gap to what is below at which what is held touches it."""
SEARCHES = 4
"""How often a way is looked for, each time with other random choices, until there is said to be
none."""
REST_STEPS = 20
"""Control steps, one second, in which all must come to rest."""
SAME_SURFACE_M = 0.003
"""How far below the highest body under a point another one still counts as under it."""
HELD_CELL_M = 0.004
"""What is held is planned with as a box of whole cells: plans for equal blocks are alike."""
CUPS_GIVE_M = 0.003
"""How far the cups may be below the tops of what stands beside a pick or a place: they come
straight down, and what is as high as the block that they touch is no obstacle."""
YAWS = tuple(k * pi / 2 for k in range(4)), tuple((2 * k + 1) * pi / 4 for k in range(4))
"""Turns of the gripper that are tried, from that of the pick: the first ones fit square blocks."""

Outcome = Generator[np.ndarray, None, str]
"""Actions (7,), and in the end what came of them, a code."""


class PrimitiveArm(Arm):
    """An arm that plans with boxes of whole cells around what it holds, see :data:`HELD_CELL_M`."""

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
    """Return the arm of a turn, whose random choices follow from the episode and the turn."""
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
    """Take what is at the pick, put it down at the place, go home.

    Returns:
        ``PLACED``; ``OUT_OF_FIELD`` or, where no way is seen, ``UNREACHABLE``, before anything
        moves; ``NOTHING_PICKED``; ``DROPPED``: lost on the way; ``UNREACHABLE`` on the way: it
        was put back to where it was taken.
    """
    if not in_field(move):
        return OUT_OF_FIELD
    if arm.held >= 0:  # by what acted before
        arm.vacuum = False
        yield from arm.wait(2)
    plan = next(filter(None, (_plan(arm, move) for _ in range(SEARCHES))), None)
    if plan is None:
        return UNREACHABLE
    try:
        code = yield from _carry(arm, plan)
    except PlanFailed:
        code = UNREACHABLE
        if arm.held >= 0:
            yield from _put_back(arm, plan)
    arm.vacuum = False
    yield from _go_home(arm)
    return code


@dataclass(frozen=True)
class _Plan:
    """Poses of the end effector: with the cups at the pick, and at the same height at the place."""

    pick: Pose
    place: Pose


def _plan(arm: PrimitiveArm, move: Move) -> _Plan | None:
    """Return the turn of the gripper with which it reaches pick and place, of those that turn what
    is picked alike; ``None``: with none.
    """
    height, owners = _under(arm, np.array([move.pick[:2]]))
    top, onto = _under(arm, np.array([move.place[:2]]))
    turn_rad = move.place[2] - move.pick[2]

    def change_rad(turn: float) -> tuple[float, float]:
        return round(abs(_wrapped(move.pick[2] + turn - arm.yaw_rad)), 6), turn

    for yaw in (move.pick[2] + turn for of in YAWS for turn in sorted(of, key=change_rad)):
        tip = _tip(arm, (*move.pick[:2], height), yaw)
        end = _tip(arm, (*move.place[:2], top + max(height, 0.0)), yaw + turn_rad)
        at_pick = arm.reaches_down(tip, owners)
        if at_pick is None:
            continue
        if arm.reaches_down(end, (*owners, *onto), at_pick) is None:
            continue
        arm.update_planning_scene()
        above = arm.reachable(backed_off(tip, APPROACH_M))
        if above is not None:
            return _Plan(tip, end)
    return None


def _wrapped(angle_rad: float) -> float:
    """Return an angle in [-pi, pi)."""
    return (angle_rad + pi) % (2 * pi) - pi


def _tip(arm: Arm, place: Sequence[float], yaw_rad: float) -> Pose:
    """Return the end effector's pose with the cups at a place (3,), straight down."""
    return Pose(list(place), _near(arm, down(yaw_rad))) * Pose([0, 0, -arm.cup_tip_z_m])


def _near(arm: Arm, orientation: np.ndarray) -> np.ndarray:
    """Return the quaternion (4,) of an orientation near the arm's present one, of the two."""
    return orientation if float(np.dot(orientation, arm.pose.q)) >= 0 else -orientation


def _under(arm: Arm, places: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """Return the greatest height above places (N, 2), and the slots of what is right under them; of
    the table where there is nothing but what is held.
    """
    present = arm.world.solids.present[0].nonzero()[:, 0].tolist()
    slots = [k for k in present if k != arm.held]
    return highest(arm.world, slots, torch.as_tensor(places, dtype=torch.float32), SAME_SURFACE_M)


def _carry(arm: Arm, plan: _Plan) -> Outcome:
    """Take it, bring it, let it go.

    Raises:
        PlanFailed: There is no way on.
    """
    arm.set_label("move", "Move above the pick")
    yield from _move_to_any(arm, [backed_off(plan.pick, APPROACH_M)])
    arm.set_label("pick", "Pick")
    arm.vacuum = True
    yield from _descend_to_take(arm, plan.pick)
    body = arm.held
    if body < 0:
        arm.vacuum = False
        yield from arm.rise(APPROACH_M)
        return NOTHING_PICKED
    arm.set_label("lift", f"Lift {arm.label(body)}")
    if not (yield from _while_held(arm, body, arm.rise(LIFT_M))):
        return DROPPED
    below_m = float(arm.pose.p[2]) - float(arm.world.bottom(torch.tensor([body]))[0])
    x, y, _ = plan.place.p
    surface, _ = _under(arm, _footprint(arm, body, plan))
    lowered = Pose([x, y, surface + below_m], plan.place.q)
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
    """Move to the first of some poses to which there is a way, see :data:`SEARCHES`.

    Raises:
        PlanFailed: There is a way to none.
    """
    left = SEARCHES * len(poses)
    for pose in [*poses] * SEARCHES:
        left -= 1
        try:
            yield from arm.move(pose)
            return
        except PlanFailed:
            if not left:
                raise


def _footprint(arm: Arm, body: int, plan: _Plan) -> np.ndarray:
    """Return places (N, 2) that a held body will be above when it is at its place."""
    points = arm.world.world_points(torch.tensor([body]))[0].double().numpy()
    tool, turn = arm.pose, yaw_of(plan.place.q) - yaw_of(arm.pose.q)
    # the gripper points down: seen from above it turns by the opposite of its own axis
    cos, sin = np.cos(turn), np.sin(turn)
    offsets = (points[:, :2] - tool.p[:2]) @ np.array([[cos, sin], [-sin, cos]])
    around = np.unique(np.round(offsets * 0.98, 3), axis=0)
    return np.concatenate((around, np.zeros((1, 2)))) + plan.place.p[:2]


def _while_held(arm: Arm, body: int, actions: Actions) -> Generator[np.ndarray, None, bool]:
    """Make actions as long as a body is held; whether it still is."""
    for action in actions:
        if arm.held != body:
            return False
        yield action
    return arm.held == body


def _descend_to_take(arm: Arm, tip: Pose) -> Actions:
    """Go down until something is held, or the surface was reached."""
    yield from arm.straight(backed_off(tip, SLOW_M))
    for action in arm.straight(backed_off(tip, -OVERTRAVEL_M), SLOW_PER_STEP_M):
        if arm.held >= 0:
            return
        yield action
    for action in arm.wait(2):
        if arm.held >= 0:
            return
        yield action


def _lower(arm: Arm, body: int, lowered: Pose) -> Actions:
    """Lower a held body until it touches something, or should have."""
    yield from arm.straight(Pose([0, 0, SLOW_M]) * lowered)
    for action in arm.straight(Pose([0, 0, -OVERTRAVEL_M]) * lowered, SLOW_PER_STEP_M):
        if _touches(arm, body):
            return
        yield action


def _touches(arm: Arm, body: int) -> bool:
    """Return whether a held body touches anything but the robot."""
    key = arm.world.keys[body]
    return any(
        key in (one, other) and not {"gripper", "arm"} & {one, other} and gap <= TOUCH_M
        for one, other, gap in arm.env.world.contacts()
    )


def _let_go(arm: Arm) -> Actions:
    """Let go, back off straight up and wait until all rests."""
    arm.vacuum = False
    yield from arm.wait(1)
    yield from arm.rise(LIFT_M)
    arm.set_label("wait", "Wait until all rests")
    movable = arm.world.solids.movable[0].nonzero().T  # (1, K)
    for action in arm.wait(REST_STEPS):
        if bool(arm.world.is_static(movable).all()):
            return
        yield action


def _put_back(arm: Arm, plan: _Plan) -> Actions:
    """Put what is held back to where it was taken."""
    body = arm.held
    arm.set_label("place", f"Put {arm.label(body)} back")
    here = Pose([*plan.pick.p[:2], float(arm.pose.p[2])], plan.pick.q)
    yield from arm.straight(here)
    yield from _while_held(arm, body, _lower(arm, body, plan.pick))
    yield from _let_go(arm)


def _go_home(arm: Arm) -> Actions:
    """Go to where the arm hides nothing; as far up as can be where there is no way."""
    arm.set_label("home", "Go home")
    kinematics = arm.planner.kinematics
    qpos = arm.env.setting.qpos_at_start(arm.env.robot_name)
    try:
        yield from arm.move(arm.base * kinematics.forward(qpos))
    except PlanFailed:
        yield from arm.rise(LIFT_M)
