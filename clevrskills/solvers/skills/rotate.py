"""Turning an object by an angle, in a direction."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np
from sapien import Pose

from clevrskills.predicates import GoalState, Outcome, Predicate, Rotated
from clevrskills.robots.controller import ROTATION_RAD
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.approach import spans
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.place import UPRIGHT_RAD, UPRIGHT_TURNS_RAD, bring, tilt_rad
from clevrskills.solvers.skills.put_down import on_table, place_at, put_aside, rest, turned_about_z

STAGES = 6
"""How often an object is taken at most: one turn of the wrist may not be enough."""
LEAST_RAD = 0.3
"""A turn for which it is worth to put an object down and to take it anew for the rest."""
CLEAR_M, LIFT_M, LIFTS = 0.03, 0.05, 4
"""Height above the table from which an object is turned, and how far and how often it is lifted
where there is no room."""
SPARE_RAD = 0.4
"""Room left to the wrist, as the grasp may be turned a little."""


@solves(Rotated)
def solve_rotated(arm: Arm, goal: Predicate) -> Actions:
    """Pick the object, turn it in the air by what is left to turn, and put it at its place.

    Where the wrist can't do all of it, the object is put down in between and taken anew.

    Raises:
        SkillFailed: It can't be taken, or not turned or not put down, or it takes too many turns.
    """
    assert isinstance(goal, Rotated)
    body = int(goal.object[0])
    xy, wanted = goal.position[0, :2].double().numpy(), goal.orientation[0].double().numpy()
    for _ in range(STAGES):
        if tilt_rad(arm, body) > UPRIGHT_RAD:
            yield from bring(arm, body, lambda: _upright(arm, body, xy))
            continue
        if arm.held != body:
            if arm.held >= 0:
                yield from put_aside(arm)
            yield from _unwind(arm, _left_rad(arm, goal))
            yield from pick(arm, body)
        left = yield from _turn(arm, body, _left_rad(arm, goal))
        place = xy if left == 0.0 else arm.body_pose(body).p[:2]
        orientation = (turned_about_z(-left) * Pose(q=wanted)).q
        yield from place_at(arm, body, on_table(arm, body, place, orientation))
        yield from rest(arm, body)
        if left == 0.0:
            return
    raise SkillFailed(f"{arm.world.keys[body]} is not turned after {STAGES} turns")


def _left_rad(arm: Arm, goal: Rotated) -> float:
    """The turn about world z that is left."""
    state = _state_of(goal, arm.env.goal, arm.env.outcome)
    assert state is not None
    return float(goal.angle_rad[0] - state["turned_rad"][0])


def _state_of(leaf: Predicate, goal: Predicate, outcome: Outcome) -> GoalState | None:
    """What a leaf of a goal tree remembers."""
    if goal is leaf:
        return outcome.state
    parts = getattr(goal, "children", None) or ((goal.child,) if hasattr(goal, "child") else ())
    found = (_state_of(leaf, *pair) for pair in zip(parts, outcome.children, strict=True))
    return next((state for state in found if state is not None), None)


def _upright(arm: Arm, body: int, xy: np.ndarray) -> Iterator[Pose]:
    """Upright poses at a place (2,)."""
    for turn in UPRIGHT_TURNS_RAD:
        yield on_table(arm, body, xy, turned_about_z(turn).q)


def _turn(arm: Arm, body: int, angle_rad: float) -> Generator[np.ndarray, None, float]:
    """Turn a held body about world z, as far as the wrist can; returns what is left.

    Raises:
        SkillFailed: It can't be turned, or was lost on the way.
    """
    arm.step_label = f"Turn {arm.label(body)}"
    if spans(arm, body)[0] < CLEAR_M:
        yield from arm.rise(LIFT_M)
    for _ in range(LIFTS):
        poses, steps, blocked = _ahead(arm, body, angle_rad)
        if not blocked:
            break
        yield from arm.rise(LIFT_M)
    if len(poses) < steps and len(poses) * ROTATION_RAD < LEAST_RAD:
        raise SkillFailed(f"{arm.world.keys[body]} cannot be turned")
    for pose in poses:
        yield arm.action(pose)
    if arm.held != body:
        raise SkillFailed(f"{arm.world.keys[body]} was lost on the way")
    return angle_rad * (1.0 - len(poses) / steps) if len(poses) < steps else 0.0


def _ahead(arm: Arm, body: int, angle_rad: float) -> tuple[list[Pose], int, bool]:
    """End-effector poses, one for each control step, that turn a held body on the spot, as far as
    the joints can follow without a collision; how many it takes; whether a collision is in the way.
    """
    arm.look_around()
    steps = int(np.ceil(abs(angle_rad) / ROTATION_RAD))
    start, qpos = arm.pose, arm.controller.target_qpos
    pivot = Pose(arm.body_pose(body).p)
    poses: list[Pose] = []
    for k in range(1, steps + 1):
        pose = pivot * turned_about_z(angle_rad * k / steps) * pivot.inv() * start
        found = arm.planner.kinematics.inverse(arm.base.inv() * pose, qpos)
        if found is None or (found < arm.planner.lower).any() or (found > arm.planner.upper).any():
            return poses, steps, False
        if arm.planner.collides(found):
            return poses, steps, True
        poses.append(pose)
        qpos = found
    return poses, steps, False


def _unwind(arm: Arm, angle_rad: float) -> Actions:
    """Turn the empty gripper such that its last joint has room for a turn about world z."""
    low, high = arm.planner.lower[-1] + SPARE_RAD, arm.planner.upper[-1] - SPARE_RAD
    # the gripper points down, so that its last joint turns the other way
    least, most = max(low, low + angle_rad), min(high, high + angle_rad)
    if least > most:
        least = most = high if angle_rad > 0 else low
    present = float(arm.controller.target_qpos[-1])
    turn = present - float(np.clip(present, least, most))
    center, start = Pose(arm.pose.p), arm.pose
    steps = int(np.ceil(abs(turn) / ROTATION_RAD))
    for k in range(1, steps + 1):
        yield arm.action(center * turned_about_z(turn * k / steps) * center.inv() * start)
